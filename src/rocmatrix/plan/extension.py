"""Names inside a variant: those that its build gives, its audit expects and its metadata.json repeats."""

from __future__ import annotations

EXTENSION_SUFFIX = ".abi3.so"
"""Ending of an extension module that any Python from 3.2 on may load (PEP 3149, PEP 384)."""

OPS_NAME = "_ops.py"
"""The generated module through which the Python files of a kernel reach its ops; kernel-builder's name."""


def extension_name(kernel: str, uid: str) -> str:
    """Return the name of an extension: file stem, torch.ops namespace, ``PyInit_`` suffix and ``id`` in metadata.json.

    kernel-builder's form is ``_<module>_<backend>_<unique id>``.

    Args:
        kernel: name of the kernel, with dashes.
        uid: 8 hexadecimal digits, the same in all variants of the kernel.
    """
    return f"_{kernel.replace('-', '_')}_rocm_{uid}"
