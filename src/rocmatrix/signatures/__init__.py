"""Sigstore signatures of ``metadata.json``: made with the identity of a CI job, and verified. Needs ``sigstore``."""
