"""Code for waves whose loads arrive late: results go to a list in memory, and blocks end at the waits that empty it."""

from __future__ import annotations

from collections.abc import Sequence

from rocmatrix.emulator.algebra import U32, Value, convert
from rocmatrix.emulator.delivery import CAPACITY, Place, Unit, awaited, counted, unit_of
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction, Operand, RegisterFile
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.semantics.access import WHOLE
from rocmatrix.emulator.shadow.emitter import ShadowEmitter
from rocmatrix.emulator.translator.body import Body, Expression, expression
from rocmatrix.emulator.translator.machine import EmittingMachine
from rocmatrix.emulator.wait_counts import Wait

_PLACES = {RegisterFile.VGPR: Place.VGPR, RegisterFile.AGPR: Place.AGPR}
_WORD = 32


class LateEmitter(EmittingMachine):
    """The translator's machine for waves whose loads arrive late."""

    def __init__(self, body: Body, mode: Mode, numerics: Numerics = DEFAULT_NUMERICS) -> None:
        """Write into a body."""
        super().__init__(body, mode, numerics)
        self._unit: Unit | None = None
        self._waits: Wait | None = None
        self._results = 0

    def prepare(self, instruction: Instruction, count: int) -> None:
        """See an instruction before it is written."""
        super().prepare(instruction, count)
        self._unit = unit_of(instruction)

    def prologue(self) -> str:
        """Return C that leaves the block to the reference where the list would overflow."""
        room = CAPACITY - self._results
        crowded = f"  if (W->late->count > {room}) return CROWDED;\n" if self._results else ""
        return crowded + super().prologue()

    def deliver(self, destination: Operand, values: Sequence[Value], bits: int = WHOLE) -> None:
        """Write code that keeps results for registers."""
        parts = [part for value in values for part in _registers(value)]
        self._results += 1
        numbers = f"{int(self._counted_by())}, {{}}{destination.index}, {len(parts)}"
        if destination.file is RegisterFile.SGPR:
            words = ", ".join("{%d}" % number for number in range(len(parts)))  # noqa: UP031 - braces
            call = f"late_scalars(W, {numbers.format('')}, in_)"
            self.body.in_order(f"{{{{ const s_u32 in_[] = {{{{ {words} }}}}; {call}; }}}}", *parts)
            return
        lanes = [self.body.spread(part) for part in parts]
        words = ", ".join("{%d}" % number for number in range(1, 1 + len(lanes)))  # noqa: UP031 - braces
        numbers = numbers.format(f"{int(_PLACES[destination.file])}, ")
        call = f"late_vectors(W, {numbers}, {bits:#x}, {{0}}, in_)"
        text = f"{{{{ const s_u32* const in_[] = {{{{ {words} }}}}; {call}; }}}}"
        self.body.in_order(text, self.exec_bits(), *lanes, arrays=range(1, 1 + len(lanes)))

    def deliver_to_lds(self, address: Value, values: Sequence[Value]) -> None:
        """Write code that keeps dwords for LDS."""
        self._results += 1
        where, word = (self.body.spread(expression(value)) for value in (address, values[0]))
        call = f"late_dwords(W, {int(self._counted_by())}, {{0}}, {{2}}, {{1}}, {self.place})"
        self.body.in_order(f"if ({call}) return FAULT", where, word, self.exec_bits(), arrays=[0, 1])

    def _counted_by(self) -> Unit:
        if self._unit is None:
            raise AssertionError("only instructions that are counted have results to deliver")
        return self._unit

    def end(self, instruction: Instruction) -> None:
        """Count an instruction that was written; one that waits ends the block, so that registers are in memory."""
        super().end(instruction)
        self._waits = awaited(instruction)
        unit = counted(instruction)
        if self._waits is not None:
            self.ends_block = True
        elif unit is not None:
            self.body.in_order(f"++W->late->issued[{int(unit)}]")

    def store_all(self) -> None:
        """Write everything back, and let arrive what the last instruction waited for."""
        super().store_all()
        if self._waits is not None:
            self.body.in_order(f"late_wait(W, {self._waits.vm}, {self._waits.lgkm})")


class LateShadowEmitter(LateEmitter, ShadowEmitter):
    """The same for tracked waves: what is not yet there is not defined by the load either."""

    def end(self, instruction: Instruction) -> None:
        """Stop in front of a wait behind which undefined bits arrive."""
        wait = awaited(instruction)
        if wait is not None:
            self.stop_if(f"late_undefined(W, {wait.vm}, {wait.lgkm})")
        super().end(instruction)


def _registers(value: Value) -> tuple[Expression, ...]:
    """Return a value of 32 or 64 bits as one for each register."""
    if value.kind.bits == _WORD:
        return (expression(value),)
    return expression(convert(value, U32)), expression(convert(value >> _WORD, U32))
