"""What this machine has: probes that look, never raise, and say what a missing thing is needed for.

Nothing here contacts the network unless asked to, and every wait is bounded.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from rocmatrix.machine.extras import HUB, RELEASE, probe_extra
from rocmatrix.machine.index import package_index
from rocmatrix.machine.probe import Health, Probe, cause
from rocmatrix.machine.system import cores, disk, engine_host, git, git_lfs, gpu, memory, python
from rocmatrix.machine.toolchains import any_toolchain, docker, emulator, hipcc, podman, zig_llvm

__all__ = ["Health", "Probe", "probe_all"]


def probe_all(*, out: Path, cache: Path, recipes: Collection[str], online: bool) -> tuple[Probe, ...]:
    """Look at everything; a probe that fails in an unforeseen way says so and stops none of the others.

    Args:
        out: the output folder, which need not exist.
        cache: the folder for what several runs share.
        recipes: toolchains that this rocmatrix can build with.
        online: whether the package index may be contacted.
    """
    compilers: dict[str, Callable[[], Probe]] = {"llvm": zig_llvm, "hipcc": hipcc}
    toolchains = [_guarded(name, probe) for name, probe in compilers.items() if name in recipes]
    probes: dict[str, Callable[[], Probe]] = {
        "Python": python,
        "cores": cores,
        "memory": memory,
        "disk, output": lambda: disk("disk, output", out),
        "disk, cache": lambda: disk("disk, cache", cache),
        "git": git,
        "git-lfs": git_lfs,
        "emulator": emulator,
        "extra release": lambda: probe_extra(RELEASE),
        "extra hub": lambda: probe_extra(HUB),
        "engine host": engine_host,
        "docker": docker,
        "podman": podman,
        "GPU": gpu,
        "package index": lambda: package_index(online=online),
    }
    return (any_toolchain(toolchains), *toolchains, *(_guarded(name, probe) for name, probe in probes.items()))


def _guarded(name: str, probe: Callable[[], Probe]) -> Probe:
    try:
        return probe()
    except Exception as err:  # noqa: BLE001 - a doctor that falls over tells nobody anything
        return Probe(name=name, health=Health.SKIPPED, detail=f"could not be looked at: {cause(err)}", needed_by="")
