"""Compile the corpus for gfx942: ``python -m tests.corpus.compiling FOLDER [NAME]...``, without a GPU.

For each kernel a code object ``NAME.co`` is written, and one ``manifest.json`` that says what a launch of each needs.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from tests.corpus.specs import SPECS, Manifest, Needs, Spec

ARCH = "gfx942"


def main(folder: Path, names: list[str]) -> None:
    """Compile the kernels of these names, or all."""
    os.environ["TRITON_CACHE_DIR"] = str(folder / "cache")
    os.environ.setdefault("TRITON_DEFAULT_FP_FUSION", "1")
    needs = {spec.name: _compile(spec, folder) for spec in SPECS if not names or spec.name in names}
    (folder / "manifest.json").write_bytes(msgspec.json.encode(Manifest(needs=needs)))


def _compile(spec: Spec, folder: Path) -> Needs:
    import triton  # noqa: PLC0415 - reads the environment when it is imported
    from triton.backends.compiler import GPUTarget  # noqa: PLC0415
    from triton.compiler import ASTSource  # noqa: PLC0415

    from tests.corpus import triton_kernels  # noqa: PLC0415

    signature = {**spec.signature, **dict.fromkeys(spec.constants, "constexpr")}
    source = ASTSource(getattr(triton_kernels, spec.kernel), signature=signature, constexprs=dict(spec.constants))
    triton.knobs.amd.use_async_copy = spec.load_to_lds or None
    made = triton.compile(source, target=GPUTarget("hip", ARCH, 64), options=dict(spec.options))
    (folder / f"{spec.name}.co").write_bytes(made.asm["hsaco"])
    return Needs(kernel=made.metadata.name, warps=made.metadata.num_warps, shared=made.metadata.shared)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
