"""A small output folder as a run leaves it, for the tests of later stages."""
