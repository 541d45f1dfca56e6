"""SERVICE: the public indexes of PyTorch and ROCm, asked what they list; ``rocmatrix matrix update`` compares it."""
