"""What is sent into the container: Python's standard library and torch, nothing of rocmatrix."""
