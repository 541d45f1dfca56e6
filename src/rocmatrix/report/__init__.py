"""What events and records look like to people: terminal, plain lines, summaries."""
