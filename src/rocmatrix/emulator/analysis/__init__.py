"""Faults that are in the code of a kernel, whichever wave executes it: missing waits, hazards, registers never written.

The code is decoded and followed along all of its paths, calls included; nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocmatrix.emulator.analysis.clauses import find_broken_clauses
from rocmatrix.emulator.analysis.flow_graph import Graph, read_graph
from rocmatrix.emulator.analysis.hazards import find_hazards
from rocmatrix.emulator.analysis.initialisation import find_unwritten
from rocmatrix.emulator.analysis.waits import find_missing_waits
from rocmatrix.emulator.code_object import CodeObject, Kernel
from rocmatrix.emulator.reports import ALL_DETECTORS, Detector, Fault

STATIC = frozenset((Detector.WAITS, Detector.HAZARDS, Detector.UNWRITTEN))
"""Detectors that have something to look for in the code alone."""


@dataclass(frozen=True, kw_only=True)
class Analysis:
    """What is wrong with a kernel's code, and what could not be looked at.

    Attributes:
        findings: faults by address, none of a wave.
        remarks: parts of the code that may be executed and are not covered, one sentence each.
    """

    findings: tuple[Fault, ...]
    remarks: tuple[str, ...] = ()


def analyze(code_object: CodeObject, kernel: str, detectors: frozenset[Detector] = ALL_DETECTORS) -> Analysis:
    """Look for faults in the code of a kernel.

    Args:
        code_object: where it is.
        kernel: its name.
        detectors: what is looked for; those that are not in ``STATIC`` find nothing here.

    Raises:
        InputError: there is no such kernel.
        UnsupportedError: what the kernel can reach is no code: it ends, does not decode, or a branch goes to the middle
            of an instruction; or it is a matrix instruction whose hazards are not known.
    """
    found = code_object.kernel(kernel)
    if not detectors & STATIC:
        return Analysis(findings=())
    graph = read_graph(code_object, found)
    faults = [*_faults(graph, found, detectors)]
    if Detector.HAZARDS in detectors and code_object.xnack:
        faults += find_broken_clauses(graph)
    return Analysis(findings=tuple(sorted(faults, key=_address)), remarks=graph.remarks)


def findings(code_object: CodeObject, kernel: str) -> tuple[Fault, ...]:
    """Return everything that the static detectors find in a kernel; see ``analyze``, also for what is raised."""
    return analyze(code_object, kernel).findings


def _address(fault: Fault) -> int:
    return fault.instruction.address if fault.instruction else 0


def _faults(graph: Graph, kernel: Kernel, detectors: frozenset[Detector]) -> Iterator[Fault]:
    if Detector.WAITS in detectors:
        yield from find_missing_waits(graph)
    if Detector.HAZARDS in detectors:
        yield from find_hazards(graph)
    if Detector.UNWRITTEN in detectors:
        yield from find_unwritten(graph, kernel)
