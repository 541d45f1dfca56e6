"""A stub HIP runtime for tests: loads in place of libamdhip64, and shows each launch that reaches it."""
