"""What was never written: undefined bits of registers and memory, followed to where they matter."""
