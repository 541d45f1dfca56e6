"""The build stage: unit -> payload of its variant."""
