"""Engines: where a toolchain's commands run."""
