"""What LLVM's readelf and objdump say of binaries. Nothing here uses our readers."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.system.llvm_tools import find_tool

SECONDS = 300


def output(tool: str, *arguments: str | Path) -> str:
    """Return what a tool of LLVM prints."""
    beside = find_tool("llvm-objdump")  # of the same LLVM; readelf does not say which targets it knows
    command = [beside.replace("llvm-objdump", tool), *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, timeout=SECONDS).stdout.decode("utf-8", "replace")


@dataclass(frozen=True, kw_only=True)
class Told:
    """What llvm-readelf tells of a shared object; ``symbols`` are (name, defined, version, weak)."""

    soname: str | None
    needed: list[str]
    rpath: str | None
    runpath: str | None
    symbols: list[tuple[str, bool, str | None, bool]]
    needs: set[tuple[str, str]]
    build_id: str | None
    executable_stack: bool
    relro: str
    text_relocations: bool


def shared_object(path: Path) -> Told:
    """Ask llvm-readelf about a shared object."""
    text = output("llvm-readelf", "--wide", "-d", "-l", "--dyn-syms", "--notes", "--version-info", path)
    lines = text.splitlines()

    def named(tag: str) -> list[str]:
        return [line.partition("[")[2].rpartition("]")[0] for line in lines if f"({tag})" in line]

    def single(tag: str) -> str | None:
        return next(iter(named(tag)), None)

    flags = " ".join(line for line in lines if "(FLAGS" in line)
    stack = re.search(r"^\s*GNU_STACK\s+(?:0x\S+\s+){5}(.*?)\s+\S+$", text, re.MULTILINE)
    segment, now = "GNU_RELRO" in text, "BIND_NOW" in text or "NOW" in flags
    return Told(
        soname=single("SONAME"),
        needed=named("NEEDED"),
        rpath=single("RPATH"),
        runpath=single("RUNPATH"),
        symbols=list(_symbols(lines)),
        needs=set(_needs(lines)),
        build_id=next((line.split()[-1] for line in lines if "Build ID:" in line), None),
        executable_stack="E" in stack[1] if stack else True,
        relro=("full" if now else "partial") if segment else "none",
        text_relocations="(TEXTREL)" in text or "TEXTREL" in flags,
    )


def _symbols(lines: list[str]) -> Iterator[tuple[str, bool, str | None, bool]]:
    for line in lines:
        fields = line.split(None, 7)
        if len(fields) == 8 and fields[0][:-1].isdigit() and fields[4] in ("GLOBAL", "WEAK", "UNIQUE"):
            named = re.match(r"(.*?)(?:@@?([^@ ]+)(?: \(\d+\))?)?$", fields[7])
            assert named
            defined = fields[6] != "UND"
            yield named[1], defined, None if defined else named[2], fields[4] == "WEAK"


def _needs(lines: list[str]) -> Iterator[tuple[str, str]]:
    library, inside = "", False
    for line in lines:
        inside = line.startswith("Version needs section") or (inside and bool(line.strip()))
        if inside and (found := re.search(r"File: (\S+)", line)):
            library = found[1]
        elif inside and (found := re.search(r"Name: (\S+)\s+Flags", line)):
            yield library, found[1]


@dataclass(frozen=True, kw_only=True)
class ToldCode:
    """What llvm-readelf tells of a code object: metadata as it prints it, and the header's flags."""

    metadata: dict[str, Any]
    flags: set[str]
    abi_version: int


def code_object(path: Path) -> ToldCode:
    """Ask llvm-readelf about a code object."""
    text = output("llvm-readelf", "--file-header", "--notes", path)
    note = re.search(r"AMDGPU Metadata:\n\s*---\n(.*?)\n\.\.\.", text, re.DOTALL)
    assert note, text[-2000:]
    flags = re.search(r"Flags:\s+0x[0-9A-Fa-f]+(.*)", text)
    version = re.search(r"ABI Version:\s+(\d+)", text)
    assert flags
    assert version
    return ToldCode(
        metadata=yaml.load(note[1], Loader=yaml.CSafeLoader),
        flags=set(filter(None, re.split(r"[,\s]+", flags[1]))),
        abi_version=int(version[1]),
    )


@dataclass(frozen=True, kw_only=True)
class Line:
    """One disassembled instruction; ``branch_target`` is -1 for what does not jump."""

    name: str
    address: int
    branch_target: int = -1


_LINE = re.compile(r"^\t(\w+).*// ([0-9A-F]{12}):")
_TARGET = re.compile(r"<[^\s+>]+(?:\+0x([0-9a-f]+))?>$")
_HEAD = re.compile(r"^([0-9a-f]{16}) <(\S+)>:$")


def disassemble(path: Path) -> dict[str, list[Line]]:
    """Ask llvm-objdump for the instructions of each function of a code object, without the padding behind it."""
    rows = (line.split(None, 7) for line in output("llvm-readelf", "--wide", "--dyn-syms", path).splitlines())
    ends = {row[7]: int(row[1], 16) + int(row[2], 0) for row in rows if len(row) > 7 and row[3] == "FUNC"}
    made: dict[str, list[Line]] = {}
    name, start = "", 0
    for line in output("llvm-objdump", "-d", path).splitlines():
        if head := _HEAD.match(line):
            start, name = int(head[1], 16), head[2]
        elif (found := _LINE.match(line)) and int(found[2], 16) < ends.get(name, 0):
            jump = found[1].startswith(("s_branch", "s_cbranch"))
            target = _TARGET.search(line)
            to = start + int(target[1] or "0", 16) if jump and target else -1
            made.setdefault(name, []).append(Line(name=found[1], address=int(found[2], 16), branch_target=to))
    return made


def classes(lines: list[Line]) -> Counter[str]:
    """Count instructions by what their names say, by prefixes of LLVM's mnemonics."""
    return Counter(map(_class_of, lines))


def _class_of(line: Line) -> str:
    prefixes = {
        ("v_mfma", "v_smfmac"): "matrix",
        ("s_waitcnt",): "waits",
        ("s_barrier",): "barriers",
        ("s_branch", "s_cbranch", "s_setpc", "s_swappc", "s_call"): "branches",
        ("ds_",): "lds",
        ("global_", "flat_", "scratch_", "buffer_"): "vmem",
        ("s_load", "s_store", "s_buffer", "s_dcache", "s_icache", "s_memtime", "s_memrealtime", "s_atc"): "smem",
        (
            "s_nop",
            "s_sleep",
            "s_setprio",
            "s_endpgm",
            "s_trap",
            "s_sethalt",
            "s_sendmsg",
            "s_ttrace",
            "s_set_gpr",
        ): "other",
        ("s_",): "salu",
        ("v_",): "valu",
    }
    return next(kind for starts, kind in prefixes.items() if line.name.startswith(starts))
