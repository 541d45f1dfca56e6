"""The translator's ``Machine``: asking it to execute an instruction writes C that executes it."""

from __future__ import annotations

import json
from collections.abc import Sequence

from rocmatrix.emulator.algebra import U32, U64, Kind, Value, convert
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Instruction, Operand
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.races.issue import issue_of
from rocmatrix.emulator.semantics.access import WHOLE, write_now
from rocmatrix.emulator.semantics.machine import Combine, Space
from rocmatrix.emulator.translator.body import Body, Expression, expression
from rocmatrix.emulator.translator.matrix_code import matrix_call
from rocmatrix.emulator.translator.operations import c_type
from rocmatrix.emulator.translator.registers import Registers
from rocmatrix.emulator.translator.render import Renderer
from rocmatrix.emulator.wait_counts import MAX_LGKMCNT, MAX_VMCNT, wait_of

_SPACES = {Space.GLOBAL: "IN_GLOBAL", Space.FLAT: "IN_GLOBAL", Space.LDS: "IN_LDS", Space.SCRATCH: "IN_SCRATCH"}
_PARTS = {
    Space.GLOBAL: ("IN_GLOBAL",),
    Space.LDS: ("IN_LDS",),
    Space.SCRATCH: ("IN_SCRATCH",),
    Space.FLAT: ("IN_LDS", "IN_SCRATCH", "IN_GLOBAL"),
}
"""The memory that lanes of an access may mean, in the order in which it is accessed."""


class EmittingMachine(Registers):
    """Registers, and memory through functions of ``runtime/memory.h``.

    Attributes:
        place: where the instruction lies that is being written, in bytes from the beginning of the code.
        count: instructions of the block before it.
        ends_block: whether the block must end behind it.
        functions: C functions that the block needs beside its own, by name.
        numerics: how arithmetic is done where that is not documented to the last bit.
    """

    def __init__(self, body: Body, mode: Mode, numerics: Numerics = DEFAULT_NUMERICS) -> None:
        """Write into a body."""
        super().__init__(body, mode)
        self.numerics = numerics
        self.place = 0
        self.count = 0
        self.ends_block = False
        self.functions: dict[str, str] = {}

    def begin(self, instruction: Instruction) -> None:
        """Tell the race detector, where there is one, of an instruction that accesses memory or waits for it."""
        wait, issue = wait_of(instruction), issue_of(instruction)
        if wait is not None and (wait.vm < MAX_VMCNT or wait.lgkm < MAX_LGKMCNT):
            self.body.in_order(f"if (W->races) race_wait(W, {wait.vm}, {wait.lgkm})")
        elif issue is not None:
            self.body.in_order(f"if (W->races) race_begin(W, {self.place}, {issue.bits})")

    def prepare(self, instruction: Instruction, count: int) -> None:  # noqa: ARG002 - for who tracks values
        """See an instruction before it is written; ``count`` others of the block are."""
        self.count = count

    def end(self, instruction: Instruction) -> None:
        """See an instruction that was written and did not move the program counter."""

    def prologue(self) -> str:
        """Return C that comes first in the block's function, once the block is written."""
        return ""

    def require(self, condition: Value, what: str) -> None:
        """Stop where a condition does not hold in every active lane."""
        holds = expression(condition)
        wrong = self._selected(~holds if holds.lanes else None)
        message = json.dumps(what)
        if holds.lanes:
            self.body.in_order(f"if ({{0}}) return unmet(W, {message}, {self.place})", wrong)
        else:
            self.body.in_order(f"if (!{{0}} && {{1}}) return unmet(W, {message}, {self.place})", holds, wrong)

    def _selected(self, lanes: Value | None) -> Expression:
        """Return the bits of the active lanes, or of those among ``lanes``."""
        return self.exec_bits() if lanes is None else expression(self.mask_bits(lanes) & self.exec_bits())

    def load(self, space: Space, address: Value, size: int, lanes: Value | None = None) -> tuple[Value, ...]:
        """Load bytes in each active lane."""
        where = self.body.spread(expression(address))
        name = self.body.fresh("ld")
        count = max(1, size // 4)
        self.body.declarations.append(f"ALIGNED s_u32 {name}[{count}][LANES];")
        call = f"load_{space.value}_{size}(W, {{0}}, {{1}}, {name}[0], {self.place})"
        self.body.in_order(f"if ({call}) return FAULT", where, self._selected(lanes), arrays=[0])
        return tuple(self.body.array(U32, f"{name}[{number}]") for number in range(count))

    def store(
        self, space: Space, address: Value, values: Sequence[Value], size: int, lanes: Value | None = None
    ) -> None:
        """Store bytes of each active lane."""
        where = self.body.spread(expression(address))
        data = [self.body.spread(expression(value)) for value in values]
        words = ", ".join("{%d}" % number for number in range(2, 2 + len(data)))  # noqa: UP031 - braces
        call = f"store_{space.value}_{size}(W, {{0}}, {{1}}, in_, {self.place})"
        text = f"{{{{ const s_u32* const in_[] = {{{{ {words} }}}}; if ({call}) return FAULT; }}}}"
        arrays = [0, *range(2, 2 + len(data))]
        self.body.in_order(text, where, self._selected(lanes), *data, arrays=arrays)

    def atomic(  # noqa: PLR0917 - the protocol's signature
        self,
        space: Space,
        address: Value,
        kind: Kind,
        combine: Combine,
        data: Sequence[Value],
        lanes: Value | None = None,
    ) -> Value:
        """Replace memory lane after lane, in the order of lanes."""
        where = self.body.spread(expression(convert(address, U64)))
        values = [self.body.spread(expression(value)) for value in data]
        function = self._combination(kind, combine, len(values))
        name = self.body.fresh("at")
        scalar = c_type(kind, lanes=False)
        self.body.declarations.append(f"ALIGNED {scalar} {name}[LANES];")
        arguments = "".join(", {%d}[lane]" % number for number in range(2, 2 + len(values)))  # noqa: UP031 - braces
        steps = [
            f"s_u64 parts_[PARTS]; uint8_t* place_[LANES]; __builtin_memset({name}, 0, sizeof {name});",
            f"atomic_parts({{0}}, {{1}}, {int(space is Space.FLAT)}, {_SPACES[space]}, parts_);",
        ]
        for part in _PARTS[space]:
            found = (
                f"atomic_places(W, {{0}}, parts_[{part}], {int(space is Space.FLAT)}, {part}, {kind.bits // 8}, place_,"
            )
            steps.append(f"if ({found} {self.place})) return FAULT;")
            steps.append(
                f"EACH(lane, parts_[{part}]) {{{{ {scalar} old_; __builtin_memcpy(&old_, place_[lane], sizeof old_); "
                f"{name}[lane] = old_; old_ = {function}(old_{arguments}); "
                "W->changes += differs(place_[lane], &old_, sizeof old_); "
                "__builtin_memcpy(place_[lane], &old_, sizeof old_); }}"
            )
        text = "{{ " + "\n    ".join(steps) + " }}"
        self.body.in_order(text, where, self._selected(lanes), *values, arrays=[0, *range(2, 2 + len(values))])
        return self.body.array(kind, name)

    def _combination(self, kind: Kind, combine: Combine, operands: int) -> str:
        """Write what an atomic stores as a function of the old value and the data."""
        body = Body()
        names = ["old", *(f"data{number}" for number in range(operands))]
        result = expression(combine(*(body.parameter(kind, name) for name in names)))
        body.in_order("return {0}", result)
        scalar = c_type(kind, lanes=False)
        name = f"combine_{self.place:x}"
        parameters = ", ".join(f"{scalar} {parameter}" for parameter in names)
        self.functions[name] = f"INLINE {scalar} {name}({parameters}) {{\n{Renderer(body).text()}}}\n"
        return name

    def load_scalar(self, address: Value, count: int) -> tuple[Value, ...]:
        """Load registers for the whole wave."""
        name = self._scalar_place()
        call = f"scalar_place(W, {{0}}, {4 * count}, {self.place})"
        self.body.in_order(f"if (!({name} = {call})) return FAULT", expression(address))
        return tuple(self.body.in_order(f"word_at({name} + {4 * number})", kind=U32) for number in range(count))

    def load_scalar_or_zero(self, address: Value, inside: Value) -> Value:
        """Load one register, or give zero."""
        name = self._scalar_place()
        call = f"scalar_place(W, {{0}}, 4, {self.place})"
        condition = expression(inside)
        self.body.in_order(f"if ({{1}} && !({name} = {call})) return FAULT", expression(address), condition)
        return self.body.in_order(f"{{0}} ? word_at({name}) : 0", condition, kind=U32)

    def _scalar_place(self) -> str:
        name = self.body.fresh("sp")
        self.body.declarations.append(f"const uint8_t* {name};")
        return name

    def deliver(self, destination: Operand, values: Sequence[Value], bits: int = WHOLE) -> None:
        """Let registers get what an access found."""
        write_now(self, destination, values, bits)

    def deliver_to_lds(self, address: Value, values: Sequence[Value]) -> None:
        """Let a dword of LDS for each active lane get what a load found."""
        self.store(Space.LDS, address, values, 4)

    def matrix(self, instruction: Instruction) -> None:
        """Execute a matrix instruction on the registers in memory."""
        call, functions = matrix_call(self, instruction)
        self.functions.update(functions)
        self.body.new_region()
        self.body.in_order(call)
        self.body.new_region()
