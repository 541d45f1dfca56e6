"""A process of a Python that has torch: the real client fetches variants of a kernel, or imports one.

Started as a file of its own with ``python -I``, ``fetch`` or ``load``, and the path of a job: JSON, whose ``result``
names the file to write. Nothing of rocmatrix is imported: that Python has torch and the client, and need not have more.
"""

from __future__ import annotations

import ctypes
import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

NOT_CHOSEN = "Cannot find a build variant for this system"
"""How the client begins where none of the published variants fits (kernels 0.17.2, resolver.py)."""


def main() -> None:
    """Do what the job asks, and write what came of it."""
    what, place = sys.argv[1:]
    job = json.loads(Path(place).read_text(encoding="utf-8"))
    found = fetch(job) if what == "fetch" else load(job)
    Path(job["result"]).write_text(json.dumps(found), encoding="utf-8")


def fetch(job: dict[str, Any]) -> dict[str, Any]:
    """Let the client download, for each ROCm of the job, what it chooses on this torch; nothing of it is run."""
    import torch  # noqa: PLC0415 - of the Python that is asked
    from kernels.install import install_kernel  # noqa: PLC0415

    own = torch.version.hip
    found = []
    for variant, hip in job["variants"].items():
        torch.version.hip = own or hip
        line: dict[str, Any] = {"variant": variant}
        if own is not None and own.split(".")[:2] != hip.split(".")[:2]:
            found.append({**line, "other_rocm": True})
            continue
        try:
            path = install_kernel(job["repository"], revision=job["commit"], trust_remote_code=True)
            line["path"] = str(path)
        except Exception as err:  # noqa: BLE001 - whatever a user would see
            line["error"] = _said(err)
            line["rejected"] = str(err).startswith(NOT_CHOSEN)
        found.append(line)
    return {
        "python": sys.version.split()[0],
        "torch": torch.__version__,
        "hip": own,
        "client": version("kernels"),
        "fetched": found,
    }


def load(job: dict[str, Any]) -> dict[str, Any]:
    """Import one downloaded variant as the client does, and say which operators it registered."""
    import torch  # noqa: PLC0415 - of the Python that is asked

    if torch.version.hip is None:
        torch.version.hip = job["hip"]
    hip = _hip_runtime(job["soname"], job["stand_in"])
    listed = getattr(torch._C, "_dispatch_get_all_op_names", list)  # noqa: SLF001 - a torch without it tells no names
    before = set(listed())
    from kernels.load import get_local_kernel  # noqa: PLC0415 - it looks at torch when it is imported

    try:
        module = get_local_kernel(Path(job["snapshot"]), trust_remote_code=True)
    except Exception as err:  # noqa: BLE001 - whatever a user would see
        return {"hip": hip, "error": _said(err)}
    return {"hip": hip, "file": str(module.__file__), "operators": sorted(set(listed()) - before)}


def _hip_runtime(soname: str | None, stand_in: str | None) -> str:
    """Load the HIP runtime that the variant asks for: this machine's own if it has one, else what stands in for it."""
    if soname is None:
        return "none"
    try:
        ctypes.CDLL(soname, mode=ctypes.RTLD_GLOBAL)
    except OSError:
        if stand_in is None:
            return "none"
        ctypes.CDLL(stand_in, mode=ctypes.RTLD_GLOBAL)
        return "stand-in"
    return "own"


def _said(err: Exception) -> str:
    said = " ".join(f"{type(err).__name__}: {err}".split())
    return said.encode("utf-8", "backslashreplace").decode("utf-8")  # JSON holds no lone surrogates


if __name__ == "__main__":
    main()
