"""The command line: one module a verb; each reads arguments, calls, presents, and does nothing else."""
