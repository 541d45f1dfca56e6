"""The audit stage: what a binary really is."""
