"""Headers of torch in a cache as if they had been fetched, for builds in which nothing includes them."""

from pathlib import Path

from rocmatrix import digest, document
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.torch_releases import release_of


def put_headers(cache: Path, *, torch: str, rocm: str, hip: str | None = None) -> HeadersOrigin:
    """Put a header into a cache where that torch's headers for a ROCm are looked for; return their origin."""
    version = release_of(torch).version
    root = cache / "torch-include"
    header = root / "staged" / "include" / "torch" / "version.h"
    header.parent.mkdir(parents=True, exist_ok=True)
    header.write_text(f"// torch {version}\n")
    found = digest.of_folder(header.parents[1])
    place = root / found.removeprefix("sha256:")[:16]
    if place.exists():
        header.unlink()
    else:
        header.parents[2].rename(place)
    origin = HeadersOrigin(
        torch=version,
        wheel=f"torch-{version}-cp311-cp311-manylinux_2_28_x86_64.whl",
        wheel_digest="",
        headers_digest=found,
        transferred=0,
        how="local wheel",
        hip=hip,
    )
    (root / f"{version}-rocm{rocm}.json").write_bytes(document.to_json(origin))
    return origin
