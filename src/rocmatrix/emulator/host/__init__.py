"""The host side of a variant: its real launcher runs on stand-ins for torch and HIP, and launches are handed over."""
