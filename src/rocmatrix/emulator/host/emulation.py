"""Launches on the emulator: memory of the host side becomes memory of the emulated device, and back."""

from __future__ import annotations

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
from rocmatrix.emulator.reports import Detector, Fault


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


class Emulation:
    """Executes launches one after the other on one emulated device, on the memory of the host side itself."""

    def __init__(self, arena: Arena, device: Device, options: Options) -> None:
        """Start with a device that has nothing loaded."""
        self._arena = arena
        self._options = options
        self._device = device
        self._loaded: dict[Digest, LoadedCode] = {}
        self._adopted: dict[int, Allocation] = {}

    def run(self, launch: Launch, code_object: CodeObject, options: Options | None = None) -> Execution:
        """Execute a launch to its end; what the kernel wrote is in the arena then, also when it failed.

        Args:
            launch: what to execute.
            code_object: where its kernel is.
            options: in place of the usual ones.

        Raises:
            InputError: the launch does not fit the kernel.
            FaultError: the kernel did something wrong.
            UnsupportedError: the kernel did something that is not modelled.
        """
        self._adopt()
        return self._execute(launch, code_object, options or self._options)

    def unwritten(self, address: int, size: int, kernel: str) -> tuple[Fault, ...]:
        """Return what of a result was never written, if it fills a whole allocation; else nothing is known.

        Args:
            address: where it begins.
            size: its bytes.
            kernel: who should have written it.
        """
        self._adopt()
        allocation = self._adopted.get(address)
        if Detector.UNWRITTEN not in self._options.detectors or allocation is None or len(allocation.data) != size:
            return ()
        return self._device.unwritten(allocation, kernel)

    def _execute(self, launch: Launch, code_object: CodeObject, options: Options) -> Execution:
        key = digest.of_bytes(launch.code_object)
        if key not in self._loaded:
            self._loaded[key] = self._device.load(code_object)
        geometry = Geometry(grid=launch.grid, block=launch.block, dynamic_lds=launch.dynamic_lds)
        return self._device.launch(self._loaded[key], launch.kernel, geometry, launch.arguments, options=options)

    def _adopt(self) -> None:
        """Let the emulator know of what was allocated, freed and written by the host since the last launch."""
        blocks = {block.address: block for block in self._arena.blocks}
        for address in self._adopted.keys() - blocks.keys():
            self._device.memory.free(self._adopted.pop(address))
        for address in blocks.keys() - self._adopted.keys():
            self._adopted[address] = self._allocation(blocks[address])
            self._device.memory.adopt(self._adopted[address])
        for address, size in self._arena.take_host_writes():
            held = self._device.memory.find(address)
            if held is not None and held.undefined is not None:
                held.undefined[address - held.address :][:size] = 0

    def _allocation(self, block: Block) -> Allocation:
        """Return a block as the device sees it: memory of the device holds nothing that anybody wrote at first."""
        allocation = Allocation(name=block.name, address=block.address, data=block.data, writable=block.writable)
        if Detector.UNWRITTEN in self._options.detectors and block.writable and not block.host:
            allocation.begin_shadow(undefined=True)
        return allocation
