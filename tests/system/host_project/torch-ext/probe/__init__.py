"""The probe has no Python side."""
