"""Policy data of the audit: limits, libraries and machine numbers, each with its source and date."""
