"""Actions that stand in for those of GitHub; copied to where act reads them, not imported."""
