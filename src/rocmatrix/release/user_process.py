"""A user's process: the real client downloads a kernel on machines that are only pretended.

Started as a file of its own with ``python -I``; a job comes as JSON on standard input, a line of JSON goes out for each
machine. torch is a stand-in that says what the client asks for and nothing else (kernels 0.17.2: backends.py,
variants.py, archs.py); no kernel is imported.
"""

from __future__ import annotations

import json
import sys
import types


def pretend_torch() -> types.ModuleType:
    """Return a torch that a machine with ROCm would have, as far as the client looks at it."""
    torch = types.ModuleType("torch")
    torch.__spec__ = types.SimpleNamespace(name="torch", submodule_search_locations=None)  # type: ignore[assignment]
    torch.version = types.SimpleNamespace(cuda=None, hip=None, xpu=None)  # type: ignore[attr-defined]
    torch.backends = types.SimpleNamespace()  # type: ignore[attr-defined]
    torch.cuda = types.SimpleNamespace(is_available=lambda: False)  # type: ignore[attr-defined]
    torch.compiled_with_cxx11_abi = lambda: True  # type: ignore[attr-defined]
    torch.nn = types.SimpleNamespace(Module=object)  # type: ignore[attr-defined]
    torch.Tensor = object  # type: ignore[attr-defined]
    torch._C = types.SimpleNamespace()  # type: ignore[attr-defined]  # noqa: SLF001 - that is its name
    return torch


def main() -> None:
    """Install the kernel once for each machine of the job."""
    job = json.load(sys.stdin)
    torch = pretend_torch()
    torch.__version__ = "0.0"  # type: ignore[attr-defined]
    sys.modules["torch"] = torch
    from kernels.install import install_kernel  # noqa: PLC0415 - it looks for torch when it is imported

    for machine in job["machines"]:
        torch.__version__ = f"{machine['torch']}.0+rocm{machine['rocm']}"  # type: ignore[attr-defined]
        torch.version.hip = f"{machine['rocm']}.0"
        line = dict(machine)
        try:
            path = install_kernel(
                job["repository"], version=job["version"], revision=job["revision"], trust_remote_code=True
            )
            line["variant"] = path.name
        except Exception as err:  # noqa: BLE001 - whatever a user would see
            line["error"] = " ".join(f"{type(err).__name__}: {err}".split())
        print(json.dumps(line), flush=True)  # noqa: T201 - the way out of this process


if __name__ == "__main__":
    main()
