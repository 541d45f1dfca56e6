"""Workflow files of GitHub Actions, run on this machine as they are."""
