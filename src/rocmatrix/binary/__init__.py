"""Readers of binaries: shared objects as the loader sees them, and the offload bundles inside."""
