"""Tests of the domain: what is promised, what can be built, and which build keeps which promise."""
