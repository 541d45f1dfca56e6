"""Compiles translations with the clang of the ziglang package, and keeps what it made.

A file in the cache is named by the digest of everything that decides its content: the machine code, the emulator's
sources, the compiler's version and the flags. It is written whole and renamed, so that several processes may share the
cache, and ends in its own digest, so that a damaged one is never loaded.
"""

from __future__ import annotations

import hashlib
import importlib.util
import platform
import subprocess
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from importlib import metadata, resources
from pathlib import Path

from rocmatrix import digest
from rocmatrix.atomic import write_file
from rocmatrix.emulator.translator.module import HEADERS, Sources, runtime_header
from rocmatrix.errors import MissingRequirementError

_SECONDS = 600.0
_DIGEST_BYTES = 32
_OPTIMISATION = "-O1"
_FLAGS = (
    "-std=c2x",
    "-fPIC",
    "-ffreestanding",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-fast-math",
    "-fwrapv",
    "-fno-strict-aliasing",
    "-fno-math-errno",
    "-fno-sanitize=all",
    "-fno-stack-protector",
    "-w",
)
_TARGETS = {"x86_64": "x86_64-linux-gnu", "aarch64": "aarch64-linux-gnu"}
_LEVELS = {
    "x86-64-v3": ("avx2", "fma", "f16c", "bmi1", "bmi2", "abm", "movbe"),
    "x86-64-v2": ("sse4_2", "ssse3", "popcnt", "cx16", "lahf_lm"),
}
"""Architecture level -> flags of /proc/cpuinfo that it needs (x86-64 psABI, "Microarchitecture levels")."""


@dataclass(frozen=True, kw_only=True)
class Compiler:
    """A compiler for this machine.

    Attributes:
        program: the executable ``zig``.
        version: of the package.
        flags: of a compilation.
        folder: where results are kept.
    """

    program: Path
    version: str
    flags: tuple[str, ...]
    folder: Path

    def compiled(self, identity: bytes, write: Callable[[], Sources]) -> Path:
        """Return a shared library made from C, from the cache where it is there.

        Args:
            identity: what decides the text.
            write: makes the text, where the cache does not have it.

        Raises:
            MissingRequirementError: the compiler does not do it; the message has its words.
        """
        place = self.folder / f"{self._name(identity)}.so"
        if not _is_whole(place):
            made = self._compile(write())
            write_file(place, made + hashlib.sha256(made).digest())
        return place

    def _name(self, identity: bytes) -> str:
        flags = "\0".join((self.version, *self.flags)).encode()
        parts = [("identity", identity), ("compiler", flags), ("emulator", emulator_digest().encode())]
        return digest.of_parts(parts).partition(":")[2][:32]

    def _compile(self, sources: Sources) -> bytes:
        with tempfile.TemporaryDirectory(prefix="rocmatrix-translator-") as name:
            folder = Path(name)
            for header in HEADERS:
                (folder / header).write_text(runtime_header(header), encoding="utf-8")
            with ThreadPoolExecutor(max_workers=len(sources.files)) as pool:
                objects = list(pool.map(lambda part: self._object(folder, *part), enumerate(sources.files)))
            self._run(folder, "ld.lld", "-shared", "--gc-sections", *objects, "-o", "module.so")
            return (folder / "module.so").read_bytes()

    def _object(self, folder: Path, number: int, text: str) -> str:
        (folder / f"part{number}.c").write_text(text, encoding="utf-8")
        self._run(folder, "clang", *self.flags, "-c", f"part{number}.c", "-o", f"part{number}.o")
        return f"part{number}.o"

    def _run(self, folder: Path, *arguments: str) -> None:
        try:
            done = subprocess.run(
                (str(self.program), *arguments),
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=_SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as err:
            raise _failure(self.program, str(err)) from err
        if done.returncode != 0:
            raise _failure(self.program, done.stderr.strip()[:2000])


def _is_whole(place: Path) -> bool:
    """Say whether a library is there and ends in the digest of what is before it: a damaged one crashes the process."""
    try:
        content = place.read_bytes()
    except FileNotFoundError:
        return False
    return content[-_DIGEST_BYTES:] == hashlib.sha256(content[:-_DIGEST_BYTES]).digest()


def _failure(program: Path, words: str) -> MissingRequirementError:
    return MissingRequirementError(
        f"the compiler of translated machine code does not work: {words}",
        where=str(program),
        fix="Install it again with: pip install --force-reinstall 'rocmatrix[embedded]'",
    )


def find_compiler(cache_folder: Path) -> Compiler | None:
    """Return the compiler for this machine, or ``None`` where there is none: then the reference executes."""
    machine = platform.machine()
    spec = importlib.util.find_spec("ziglang")
    if spec is None or spec.origin is None or platform.system() != "Linux" or machine not in _TARGETS:
        return None
    return Compiler(
        program=Path(spec.origin).parent / "zig",
        version=metadata.version("ziglang"),
        flags=("-target", _TARGETS[machine], *_architecture(machine), _OPTIMISATION, *_FLAGS),
        folder=cache_folder / "translator",
    )


@cache
def emulator_digest() -> str:
    """Return the digest of the sources that decide what code is written; the host's are none of them."""
    folder = Path(str(resources.files("rocmatrix.emulator")))
    names = [path.relative_to(folder) for pattern in ("*.py", "*.h") for path in folder.rglob(pattern)]
    return digest.of_named_files({name.as_posix(): folder / name for name in names if name.parts[0] != "host"})


@cache
def _architecture(machine: str) -> tuple[str, ...]:
    """Return the flag that names what this processor can do."""
    if machine != "x86_64":
        return ()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    known: set[str] = set(next((line.partition(":")[2].split() for line in lines if line.startswith("flags")), []))
    older = _LEVELS["x86-64-v2"]
    if known.issuperset(older) and known.issuperset(_LEVELS["x86-64-v3"]):
        return ("-march=x86-64-v3",)
    return ("-march=x86-64-v2",) if known.issuperset(older) else ("-march=x86-64",)
