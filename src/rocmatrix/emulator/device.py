"""The emulated device: memory, loaded code objects, launches."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from rocmatrix.emulator.analysis import STATIC, Analysis, analyze
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.delivery import Delivery
from rocmatrix.emulator.dispatch import DEFAULT_STACK, Dispatch, Setting, make_dispatch
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.memory import Allocation, Memory
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.observer import Observer
from rocmatrix.emulator.placement import MI300X, Topology
from rocmatrix.emulator.races.launch import track_races
from rocmatrix.emulator.reports import Detector, Fault, FaultError, UnsupportedError
from rocmatrix.emulator.scheduler import Scheduler
from rocmatrix.emulator.shadow.memory import Stores
from rocmatrix.emulator.shadow.tracker import Tracker, unwritten_results

_PAGE = 4096


@dataclass(frozen=True, kw_only=True)
class LoadedCode:
    """A code object in memory.

    Attributes:
        code_object: what was loaded.
        address: where address 0 of the image lies.
        segments: its memory.
    """

    code_object: CodeObject
    address: int
    segments: tuple[Allocation, ...]


@dataclass(frozen=True, kw_only=True)
class Options:
    """How a launch is executed.

    Attributes:
        seed: decides the order of workgroups and of waves; the same seed gives the same run.
        limit: instructions that one wave may execute before it counts as endless.
        residency: workgroups that run at the same time from the beginning.
        most_resident: workgroups that may run at the same time where some wait for others: as many as compute units.
        dynamic_stack: bytes of scratch that each lane of a kernel whose stack has no known bound gets at least.
        preloads: whether arguments are preloaded into SGPRs where a kernel asks for it.
        detectors: what is looked for beside wrong numbers; the results of a run are the same with and without.
        numerics: how arithmetic is done where that is not documented to the last bit.
        delivery: when loads arrive.
        topology: what decides where workgroups run, for kernels that ask.
    """

    seed: int = 0
    limit: int = 50_000_000
    residency: int = 1
    most_resident: int = 304
    dynamic_stack: int = DEFAULT_STACK
    preloads: bool = True
    detectors: frozenset[Detector] = frozenset()
    numerics: Numerics = DEFAULT_NUMERICS
    delivery: Delivery = Delivery.EARLY
    topology: Topology = MI300X


@dataclass(frozen=True, kw_only=True)
class Execution:
    """What a launch came to.

    Attributes:
        instructions: that all waves executed together.
        waves: how many there were.
        findings: what the detectors found, the same thing once for each instruction.
        remarks: code that could not be analysed, and what it asked for that had to be made up; one sentence each.
    """

    instructions: int
    waves: int
    findings: tuple[Fault, ...] = ()
    remarks: tuple[str, ...] = ()


class Device:
    """One emulated gfx942."""

    def __init__(self, program: Callable[[Memory, str], Program] = Program) -> None:
        """Start with empty memory.

        Args:
            program: makes what executes a kernel, from memory and the kernel's name; the reference interpreter's by
                default.
        """
        self._program = program
        self.memory = Memory()
        self._dispatches = itertools.count()
        self._analyses: dict[tuple[int, str, frozenset[Detector]], Analysis] = {}
        self._stores = Stores()

    def load(self, code_object: CodeObject) -> LoadedCode:
        """Load a code object: each segment becomes memory of its own, at the distance that the image asks for."""
        end = max(segment.address + segment.size for segment in code_object.segments)
        image = self.memory.reserve(end + _PAGE)
        segments = []
        for number, segment in enumerate(code_object.segments):
            name = f"segment {number} of {code_object.where}"
            allocation = self.memory.allocate_at(image + segment.address, segment.size, name, writable=segment.writable)
            allocation.data[: len(segment.data)] = np.frombuffer(segment.data, dtype=np.uint8)
            segments.append(allocation)
        for relocation in code_object.relocations:
            word = self.memory.bytes_at(image + relocation.address, 8)
            word[:] = np.frombuffer((image + relocation.addend).to_bytes(8, "little"), dtype=np.uint8)
        return LoadedCode(code_object=code_object, address=image, segments=tuple(segments))

    def launch(
        self,
        code: LoadedCode,
        kernel: str,
        geometry: Geometry,
        arguments: bytes,
        *,
        options: Options | None = None,
        observer: Observer | None = None,
    ) -> Execution:
        """Execute a kernel to its end.

        Args:
            code: where it is.
            kernel: its name.
            geometry: extents of the launch.
            arguments: its own arguments, laid out as its metadata says.
            options: order, limits.
            observer: who watches.

        Raises:
            InputError: there is no such kernel, or the launch does not fit it.
            FaultError: the kernel did something wrong; it carries what the detectors had found by then.
            UnsupportedError: the kernel did something that is not modelled.
        """
        options = options or Options()
        setting = Setting(
            memory=self.memory,
            number=next(self._dispatches),
            dynamic_stack=options.dynamic_stack,
            preloads=options.preloads,
            observer=observer,
            tracker=Tracker(self._stores) if Detector.UNWRITTEN in options.detectors else None,
        )
        dispatch = make_dispatch(code.code_object.kernel(kernel), code.address, geometry, arguments, setting)
        return self._execute(code, dispatch, options)

    def _execute(self, code: LoadedCode, dispatch: Dispatch, options: Options) -> Execution:
        """Execute a dispatch; what the detectors found goes into the result, or into the fault that ends it."""
        kernel, tracker = dispatch.kernel.name, dispatch.tracker
        analysis = self._analysis(code, kernel, options.detectors & STATIC)
        try:
            execution = _execute(dispatch, self._program(self.memory, kernel), options)
        except FaultError as err:
            found = () if tracker is None else tracker.findings.all
            err.findings += found + _beside(analysis.findings, found, code.address)
            raise
        finally:
            self.memory.free(dispatch.kernarg)
            self.memory.free(dispatch.packet)
            if tracker is None:
                self.memory.forget_unwritten()
        found = () if tracker is None else tracker.findings.all
        static = _beside(analysis.findings, found, code.address)
        return replace(
            execution,
            findings=execution.findings + found + static,
            remarks=analysis.remarks + execution.remarks,
        )

    def _analysis(self, code: LoadedCode, kernel: str, detectors: frozenset[Detector]) -> Analysis:
        """Return what is wrong with the code of a kernel; it is looked at once."""
        key = (code.address, kernel, detectors)
        if key not in self._analyses:
            try:
                self._analyses[key] = analyze(code.code_object, kernel, detectors)
            except UnsupportedError as err:
                remark = f"the code of {kernel} is not analysed: {err}"
                self._analyses[key] = Analysis(findings=(), remarks=(remark,))
        return self._analyses[key]

    def unwritten(self, result: Allocation, kernel: str) -> tuple[Fault, ...]:
        """Return what of a result was never written by launches with ``Detector.UNWRITTEN``.

        Args:
            result: where the result is; allocated as not written.
            kernel: who should have written it.
        """
        return unwritten_results(result, self._stores, kernel)


def _beside(static: tuple[Fault, ...], found: tuple[Fault, ...], image: int) -> tuple[Fault, ...]:
    """Return faults of the code, without those that a wave was seen to commit; their addresses are the image's."""
    seen = {(fault.kind, fault.instruction.address - image) for fault in found if fault.instruction is not None}
    return tuple(
        fault for fault in static if fault.instruction is None or (fault.kind, fault.instruction.address) not in seen
    )


def _execute(dispatch: Dispatch, program: Program, options: Options) -> Execution:
    """Run the workgroups, and say what the race detector found."""
    races = track_races(dispatch, program) if Detector.RACES in options.detectors else None
    scheduler = Scheduler(dispatch, program, options, races)
    try:
        scheduler.run()
    except FaultError as err:
        err.findings += () if races is None else races.findings()
        raise
    findings = () if races is None else races.findings()
    remarks = tuple(
        f"{dispatch.kernel.name} reads {what}: the emulator gives it a value that a device may give"
        for what in sorted(scheduler.invented)
    )
    return Execution(instructions=scheduler.instructions, waves=scheduler.waves, findings=findings, remarks=remarks)
