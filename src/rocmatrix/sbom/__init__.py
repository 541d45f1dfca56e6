"""The stage ``sbom``: a bill of materials of each collected kernel, in CycloneDX."""
