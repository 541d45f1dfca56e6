"""Code for tracked waves: it runs at full speed while everything that it touches is defined, and stops where not.

A block begins with a look at the registers that it reads before it writes them; loads look at the memory that they are
about to read. Where a bit is undefined, generated code stops in front of the block or the load with everything as the
reference would have it, and the reference goes on, bit by bit. So values need no shadow in generated code: all that
its blocks compute is defined, and they only note what they define. EXEC is the same throughout a block, because an
instruction that writes it ends one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocmatrix.emulator.algebra import U64, Kind, Value, convert
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import EXEC, SCC, VCC, VCCZ, Instruction, Operand, RegisterFile
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.races.issue import Issue, issue_of
from rocmatrix.emulator.semantics.machine import Combine, Space
from rocmatrix.emulator.semantics.operands import integer_constant
from rocmatrix.emulator.shadow.exposure import EVERYWHERE, Exposure, declared_list
from rocmatrix.emulator.translator.body import Body, Expression, expression
from rocmatrix.emulator.translator.machine import EmittingMachine

_AGPRS = 256
"""Number of the first AGPR where both files are counted together (``runtime/shadow.h``)."""
_WIDE = {Space.LDS: "wide_lds"}


class ShadowEmitter(EmittingMachine):
    """The translator's machine for tracked waves."""

    def __init__(self, body: Body, mode: Mode, numerics: Numerics = DEFAULT_NUMERICS) -> None:
        """Write into a body."""
        super().__init__(body, mode, numerics)
        self._exec = self.exec_bits()
        self._exposure = Exposure()
        self._active: set[int] = set()
        self._everywhere: set[int] = set()
        self._defined_scalars: set[int] = set()
        self._defines_scc = False
        self._lanes_read = 0
        self._issue: Issue | None = None

    def prepare(self, instruction: Instruction, count: int) -> None:
        """See an instruction before it is written."""
        super().prepare(instruction, count)
        self._lanes_read = 0
        self._issue = issue_of(instruction)
        if instruction.name == "v_readlane_b32":
            lane = integer_constant(instruction.sources[1].index)
            constant = instruction.sources[1].file is RegisterFile.CONSTANT and lane is not None
            self._lanes_read = 1 << (lane & 63) if constant and lane is not None else EVERYWHERE
        self._exposure.first = self._exposure.first or instruction.name == "v_readfirstlane_b32"

    def prologue(self) -> str:
        """Return the C in front of the block."""
        return self._exposure.text()

    # -- registers -----------------------------------------------------------------------------------------------

    def read(self, operand: Operand, kind: Kind) -> Value:
        """Return registers as one value."""
        for index in range(operand.index, operand.index + kind.registers):
            if operand.file is RegisterFile.SGPR:
                self._exposure.read_scalar(index)
            elif self._lanes_read:
                self._exposure.read_lanes(_number(operand.file, index), self._lanes_read)
            else:
                self._exposure.read(_number(operand.file, index))
        return super().read(operand, kind)

    def special(self, index: int, kind: Kind) -> Value:
        """Return apertures and conditions."""
        if index == VCCZ:
            self._exposure.read_scalar(VCC)
            self._exposure.read_scalar(VCC + 1)
        if index == SCC:
            self._exposure.read_scc()
        return super().special(index, kind)

    def write(self, operand: Operand, value: Value, lanes: Value | None = None) -> None:
        """Write registers."""
        super().write(operand, value, lanes)
        for index in range(operand.index, operand.index + value.kind.registers):
            if operand.file is RegisterFile.SGPR:
                self._defines_scalar(index)
                continue
            number = _number(operand.file, index)
            if lanes is None:
                self._exposure.write(number)
                self._active.add(number)
            else:
                self.body.in_order(f"wrote_vector(W, {number}, {{0}})", self._selected(lanes))
                # which lanes are defined now is seen when the next block begins
                self.ends_block = self.ends_block or not self._exposure.is_written(number)

    def _defines_scalar(self, index: int) -> None:
        self._exposure.write_scalar(index)
        self._defined_scalars.add(index)
        if index >= EXEC:
            self.ends_block = True

    def read_mask(self, operand: Operand) -> Expression:
        """Return a lane mask from two SGPRs."""
        if operand.file is RegisterFile.SGPR:
            self._exposure.read_scalar(operand.index)
            self._exposure.read_scalar(operand.index + 1)
        return super().read_mask(operand)

    def write_mask(self, operand: Operand, value: Value) -> None:
        """Write a lane mask to two SGPRs."""
        super().write_mask(operand, value)
        self._defines_scalar(operand.index)
        self._defines_scalar(operand.index + 1)

    def write_exec(self, value: Value) -> None:
        """Set the active lanes among those that are active."""
        super().write_exec(value)
        self.ends_block = True

    def read_scc(self) -> Expression:
        """Return SCC."""
        self._exposure.read_scc()
        return super().read_scc()

    def write_scc(self, value: Value) -> None:
        """Set SCC."""
        super().write_scc(value)
        self._exposure.write_scc()
        self._defines_scc = True

    def write_lane(self, operand: Operand, value: Value, lane: Value) -> None:
        """Write a scalar to one lane."""
        super().write_lane(operand, value, lane)
        number = _number(operand.file, operand.index)
        self.body.in_order(f"wrote_vector(W, {number}, 1ull << ({{0}} & 63))", expression(lane))

    def matrix(self, instruction: Instruction) -> None:
        """Execute a matrix instruction; it reads and writes all lanes."""
        for operand in instruction.sources:
            for index in range(operand.index, operand.index + operand.count if operand.is_vector else 0):
                self._exposure.read_lanes(_number(operand.file, index), EVERYWHERE)
        super().matrix(instruction)
        destination = instruction.destinations[0]
        for index in range(destination.index, destination.index + destination.count):
            number = _number(destination.file, index)
            self._exposure.write(number, everywhere=True)
            self._everywhere.add(number)

    def store_all(self) -> None:
        """Write everything back that is not yet in the wave, and what of it is defined."""
        self._note_defined()
        super().store_all()

    def _note_defined(self) -> None:
        """Write what was defined since the last time."""
        self._note_vectors(self._active, self._exec)
        self._note_vectors(self._everywhere, self.constant(U64, EVERYWHERE))
        if self._defined_scalars:
            name = self._declared(self._defined_scalars)
            self.body.in_order(f"wrote_scalars(W, {name}, {len(self._defined_scalars)})")
            self._defined_scalars.clear()
        if self._defines_scc:
            self.body.in_order("W->shadow->scc = 0")
            self._defines_scc = False

    def _note_vectors(self, registers: set[int], mask: Expression) -> None:
        if registers:
            self.body.in_order(f"wrote_vectors(W, {self._declared(registers)}, {len(registers)}, {{0}})", mask)
            registers.clear()

    def _declared(self, numbers: Iterable[int]) -> str:
        name = self.body.fresh("list")
        self.body.declarations.append(declared_list(name, numbers))
        return name

    # -- memory --------------------------------------------------------------------------------------------------

    def stop_if(self, condition: str, *operands: Expression, arrays: Sequence[int] = ()) -> None:
        """Stop in front of the instruction where a condition holds; all before it is in the wave then."""
        self.body.new_region()
        self._note_defined()
        place = len(operands)
        written = sorted(self._written)
        values = [self._scalars[index] for index in written]
        leave = [f"W->s[{index}] = {{{place + number}}};" for number, index in enumerate(written)]
        if self._scc_written and self._scc is not None:
            leave.append(f"W->scc = {{{place + len(values)}}};")
            values.append(self._scc)
        if self._issue is not None:
            leave.append(f"if (W->races) race_take_back(W, {self._issue.bits});")
        leave.append(f"W->executed += {self.count}; W->pc = W->base + {self.place}; return UNWRITTEN;")
        text = f"if ({condition}) {{{{ {' '.join(leave)} }}}}"
        self.body.in_order(text, *operands, *values, arrays=arrays)

    def load(self, space: Space, address: Value, size: int, lanes: Value | None = None) -> tuple[Value, ...]:
        """Load bytes in each active lane."""
        where, mask = self.body.spread(expression(address)), self._selected(lanes)
        self.stop_if(f"unwritten_{space.value}_{size}(W, {{0}}, {{1}})", where, mask, arrays=[0])
        return super().load(space, where, size, lanes)

    def store(
        self, space: Space, address: Value, values: Sequence[Value], size: int, lanes: Value | None = None
    ) -> None:
        """Store bytes of each active lane, and note that they are defined."""
        where = self.body.spread(expression(address))
        super().store(space, where, values, size, lanes)
        self.body.in_order(f"wrote_{space.value}_{size}(W, {{0}}, {{1}})", where, self._selected(lanes), arrays=[0])

    def atomic(  # noqa: PLR0917 - the protocol's signature
        self,
        space: Space,
        address: Value,
        kind: Kind,
        combine: Combine,
        data: Sequence[Value],
        lanes: Value | None = None,
    ) -> Value:
        """Replace memory lane after lane."""
        where, mask = self.body.spread(expression(convert(address, U64))), self._selected(lanes)
        name = f"unwritten_{_WIDE.get(space, space.value)}_{kind.bits // 8}"
        self.stop_if(f"{name}(W, {{0}}, {{1}})", where, mask, arrays=[0])
        return super().atomic(space, address, kind, combine, data, lanes)

    def load_scalar(self, address: Value, count: int) -> tuple[Value, ...]:
        """Load registers for the whole wave; code goes on behind, as arguments are loaded with padding beside them."""
        where = expression(address)
        self.ends_block = True
        self.stop_if(f"unwritten_scalar(W, {{0}}, {4 * count})", where)
        return super().load_scalar(where, count)

    def load_scalar_or_zero(self, address: Value, inside: Value) -> Value:
        """Load one register, or give zero."""
        where, condition = expression(address), expression(inside)
        self.stop_if("{1} && unwritten_scalar(W, {0}, 4)", where, condition)
        return super().load_scalar_or_zero(where, condition)


def _number(file: RegisterFile, index: int) -> int:
    return index + (_AGPRS if file is RegisterFile.AGPR else 0)
