"""STAGE: publishes collected variants, all of a kernel's or none: staged, verified, promoted, tagged."""
