"""The collect stage: from audited units to a set that can be published."""
