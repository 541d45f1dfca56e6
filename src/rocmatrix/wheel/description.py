"""``METADATA`` and ``WHEEL`` of a wheel, from metadata.json of its variant."""

from __future__ import annotations

import tomllib
from importlib.resources import files

from packaging.licenses import InvalidLicenseExpression, canonicalize_license_expression
from packaging.metadata import Metadata as CoreMetadata
from packaging.metadata import RawMetadata
from packaging.version import Version

import rocmatrix
from rocmatrix.errors import InputError
from rocmatrix.metadata import Metadata
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Abi, Unit
from rocmatrix.wheel.naming import PYTHON, WheelName

_DESCRIPTION = """# {name}

The kernel `{kernel}` of `{repository}` as a wheel: variant `{variant}`.

```python
import {module}
```

| | |
|---|---|
| torch | {torch} |
| ROCm | {rocm} |
| gfx | {archs} |
| compiler | {compiler} |
| tested | {tested} |
| sources | {sources} |

pip compares torch's version, but neither its ROCm nor the GPU: choose the wheel whose `+rocm…` is that of
`torch.version.hip`.
"""


def core_metadata(name: WheelName, unit: Unit, metadata: Metadata, manifest: Manifest, *, repository: str) -> bytes:
    """Return ``METADATA`` (core metadata specification, version 2.4), validated by ``packaging``.

    Args:
        name: of the wheel.
        unit: what was built.
        metadata: of the variant.
        manifest: build.toml, for the torches that may be served.
        repository: on the Hub.

    Raises:
        InputError: the kernel needs what a wheel cannot bring.
    """
    if metadata.kernel_depends:
        names = ", ".join(needed.repo_id for needed in metadata.kernel_depends)
        raise InputError(
            f"it loads other kernels from a Hub ({names}), which no wheel brings",
            where=metadata.name,
            fix="Let its users load it with `get_kernel`.",
        )
    urls = {"Source": metadata.source, "Upstream": metadata.upstream}
    raw = RawMetadata(
        metadata_version="2.4",
        name=name.distribution,
        version=str(name.version),
        summary=f"ROCm kernel {metadata.name} for PyTorch: {unit.variant}",
        license_expression=_license(metadata.license),
        requires_python=f">={PYTHON[0]}.{PYTHON[1]}",
        requires_dist=[_torch(unit, manifest), *(_distribution(each) for each in metadata.python_depends)],
        project_urls={label: url for label, url in urls.items() if url},
        description_content_type="text/markdown",
        description=_described(name, unit, metadata, repository),
    )
    return CoreMetadata.from_raw(raw).as_rfc822().as_bytes()


def wheel_file(name: WheelName) -> bytes:
    """Return ``WHEEL``."""
    pure = "true" if name.abi == "none" else "false"
    generator = f"rocmatrix {rocmatrix.__version__}"
    return f"Wheel-Version: 1.0\nGenerator: {generator}\nRoot-Is-Purelib: {pure}\nTag: {name.tag}\n".encode()


def _torch(unit: Unit, manifest: Manifest) -> str:
    """Return which torches the variant is for, as a requirement."""
    if unit.abi is Abi.PER_TORCH:
        return f"torch=={unit.torch}.*"
    lowest = [version for version in (unit.torch, manifest.torch and manifest.torch.minver) if version]
    bounds = [f">={max(lowest, key=Version)}"] if lowest else []
    if manifest.torch and manifest.torch.maxver:
        *before, last = Version(manifest.torch.maxver).release  # 2.13 serves 2.13.1 too
        bounds.append("<" + ".".join(map(str, (*before, last + 1))))
    return f"torch{','.join(bounds)}"


def _distribution(depend: str) -> str:
    """Return the distribution that an id of ``python-depends`` stands for.

    Raises:
        InputError: nobody has said which it is.
    """
    data = tomllib.loads(files(__package__).joinpath("python_depends.toml").read_text(encoding="utf-8"))
    known: dict[str, str] = data["distributions"]
    if depend not in known:
        raise InputError(
            f"which distribution `{depend}` of python-depends is, is not known",
            where="build.toml",
            fix=f"Known are {', '.join(sorted(known))}.",
        )
    return known[depend]


def _license(text: str) -> str:
    """Return the SPDX expression for a licence id of the Hub; those that SPDX does not know get a name of their own."""
    try:
        return canonicalize_license_expression(text)
    except InvalidLicenseExpression:
        plain = "".join(sign if sign.isascii() and sign.isalnum() else "-" for sign in text).strip("-")
        return canonicalize_license_expression(f"LicenseRef-{plain or 'unknown'}")


def _described(name: WheelName, unit: Unit, metadata: Metadata, repository: str) -> str:
    block = metadata.rocmatrix
    torch = {Abi.STABLE: f"{unit.torch} and later", Abi.PER_TORCH: f"{unit.torch}", Abi.NOARCH: "any"}[unit.abi]
    source = metadata.provenance.kernel if metadata.provenance else None
    changed = ", with changed files" if source and source.dirty else ""
    return _DESCRIPTION.format(
        name=name.distribution,
        kernel=metadata.name,
        repository=repository,
        variant=unit.variant,
        module=metadata.name.replace("-", "_"),
        torch=torch,
        rocm=unit.rocm or "any",
        archs=", ".join(metadata.backend.archs or ()) or "any",
        compiler=block.toolchain.description if block.toolchain else "none: Python only",
        tested=f"{block.checked.tested.value}: {block.checked.reason}",
        sources=f"commit {source.commit}{changed}" if source else "of no known commit",
    )
