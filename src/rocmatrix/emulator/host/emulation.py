"""Launches on the emulator: memory of the host side becomes memory of the emulated device, and back."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rocmatrix import digest
from rocmatrix.digest import Digest
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.device import Device, Execution, LoadedCode, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.host.arena import Arena, Block
from rocmatrix.emulator.host.launch import Launch
from rocmatrix.emulator.memory import Allocation
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics


def make_device(code_cache: Path | None) -> Device:
    """Return what executes launches: the one place that chooses the executor.

    Args:
        code_cache: folder for what the translator compiles; ``None`` for the reference interpreter.
    """
    if code_cache is None:
        return Device()
    from rocmatrix.emulator.translator.program import Translator  # noqa: PLC0415 - only where it is chosen

    return Device(Translator(code_cache))


def mode(code_cache: Path | None, numerics: Numerics = DEFAULT_NUMERICS) -> str:
    """Return how launches are executed, for people."""
    executor = "reference interpreter" if code_cache is None else "translated to C"
    return f"{executor}, {numerics}"


@dataclass(frozen=True, kw_only=True)
class _Mirror:
    """A block of the arena and what stands for it in the emulator: the same address, the same bytes during a launch."""

    block: Block
    allocation: Allocation


class Emulation:
    """Executes launches one after the other on one emulated device."""

    def __init__(self, arena: Arena, device: Device, options: Options) -> None:
        """Start with a device that has nothing loaded."""
        self._arena = arena
        self._options = options
        self._device = device
        self._loaded: dict[Digest, LoadedCode] = {}
        self._mirrors: dict[int, _Mirror] = {}

    def run(self, launch: Launch, code_object: CodeObject) -> Execution:
        """Execute a launch to its end; what the kernel wrote is in the arena then, also when it failed.

        Raises:
            InputError: the launch does not fit the kernel.
            FaultError: the kernel did something wrong.
            UnsupportedError: the kernel did something that is not modelled.
        """
        self._mirror()
        for mirror in self._mirrors.values():
            mirror.allocation.data[:] = mirror.block.data
        try:
            return self._execute(launch, code_object)
        finally:
            for mirror in self._mirrors.values():
                if mirror.block.writable:
                    mirror.block.data[:] = mirror.allocation.data

    def _execute(self, launch: Launch, code_object: CodeObject) -> Execution:
        key = digest.of_bytes(launch.code_object)
        if key not in self._loaded:
            self._loaded[key] = self._device.load(code_object)
        geometry = Geometry(grid=launch.grid, block=launch.block, dynamic_lds=launch.dynamic_lds)
        return self._device.launch(self._loaded[key], launch.kernel, geometry, launch.arguments, options=self._options)

    def _mirror(self) -> None:
        """Let the emulator know of what was allocated and freed since the last launch."""
        blocks = {block.address: block for block in self._arena.blocks}
        for address in self._mirrors.keys() - blocks.keys():
            self._device.memory.free(self._mirrors.pop(address).allocation)
        for address in blocks.keys() - self._mirrors.keys():
            block = blocks[address]
            allocation = self._device.memory.allocate_at(address, len(block.data), block.name, writable=block.writable)
            self._mirrors[address] = _Mirror(block=block, allocation=allocation)
