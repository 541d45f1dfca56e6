"""GPUs of this machine: which there are, which of them is used, and what it takes to use it in a container."""
