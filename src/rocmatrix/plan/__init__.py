"""The domain, pure: what is promised, what can be built, and which build keeps which promise."""
