"""rocmatrix: from a torch x ROCm build matrix to verified kernels on the Hugging Face Hub."""

__version__ = "0.1.0"
