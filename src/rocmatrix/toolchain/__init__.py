"""Toolchains: what compiles a unit."""
