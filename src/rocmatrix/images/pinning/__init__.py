"""Pins resolved online: each is asked of the place it names, and written down with the day on which it answered."""
