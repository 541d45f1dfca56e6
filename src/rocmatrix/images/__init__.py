"""Toolchain images: recipes with pinned versions, built once for each recipe digest, on any docker engine."""
