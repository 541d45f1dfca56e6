"""A ``Body`` as C text: what nobody needs left out, values that cross regions kept in arrays."""

from __future__ import annotations

from rocmatrix.emulator.translator.body import AFTER, BEFORE, LOOP, Body, Expression, Region, Statement, operand_text
from rocmatrix.emulator.translator.operations import c_type


class Renderer:
    """Writes one function's statements."""

    def __init__(self, body: Body) -> None:
        """Look through a finished body."""
        self._body = body
        self._used: set[str] = set()
        self._kept: dict[str, Expression] = {}
        self._reloaded: set[str] = set()
        self._regions = [self._needed(number, region) for number, region in reversed([*enumerate(body.regions)])][::-1]

    def text(self) -> str:
        """Return declarations and statements, without the braces of the function."""
        lines = [f"  {line}" for line in self._body.declarations]
        for value in self._kept.values():
            if value.array is None:
                value.array = f"{value.name}_all"
                lines.append(f"  {c_type(value.kind, lanes=True)} {value.array}[GROUPS];")
        for number, region in enumerate(self._regions):
            lines += self._region(number, region)
        return "\n".join(lines) + "\n"

    def _needed(self, number: int, region: Region) -> Region:
        """Return a region without the statements whose results nobody reads; call for the last region first."""
        needed = Region()
        needed.parts[AFTER].extend(self._live(region.parts[AFTER]))
        for result, mask in region.masks:
            if result.name in self._used:
                needed.masks.append((result, mask))
                self._use(mask)
        needed.parts[LOOP].extend(self._live(region.parts[LOOP]))
        needed.parts[BEFORE].extend(self._live(region.parts[BEFORE]))
        self._find_crossing(needed, number)
        return needed

    def _live(self, statements: list[Statement]) -> list[Statement]:
        live = []
        for statement in reversed(statements):
            if statement.effect or (statement.result is not None and statement.result.name in self._used):
                live.append(statement)
                for operand in statement.operands:
                    self._use(operand)
        return live[::-1]

    def _use(self, value: Expression) -> None:
        self._used.add(value.name)

    def _find_crossing(self, region: Region, number: int) -> None:
        """Note values of lanes that a region takes from an earlier one, or as arrays."""
        reads = [(mask, False) for _, mask in region.masks]
        for part in region.parts:
            for statement in part:
                reads += [(value, place in statement.arrays) for place, value in enumerate(statement.operands)]
        for value, as_array in reads:
            if value.lanes and (as_array or value.ready != (number, LOOP)):
                self._kept[value.name] = value

    def _region(self, number: int, region: Region) -> list[str]:
        lines = [self._statement(statement, in_loop=False) for statement in region.parts[BEFORE]]
        if region.parts[LOOP] or region.masks:
            lines += [f"  s_u64 {result.name} = 0;" for result, _ in region.masks]
            lines.append("  LOOP {")
            lines += self._loop(number, region)
            lines.append("  }")
        return lines + [self._statement(statement, in_loop=False) for statement in region.parts[AFTER]]

    def _loop(self, number: int, region: Region) -> list[str]:
        lines = []
        self._reloaded.clear()
        for statement in region.parts[LOOP]:
            lines += self._reloads(number, statement.operands, statement.arrays)
            lines.append("  " + self._statement(statement, in_loop=True))
            result = statement.result
            if result is not None and result.name in self._kept:
                lines.append(f"    {result.array}[g] = {result.name};")
        for result, mask in region.masks:
            lines += self._reloads(number, (mask,), frozenset())
            lines.append(f"    {result.name} |= bits_of({mask.name}, g);")
        return lines

    def _reloads(self, number: int, operands: tuple[Expression, ...], arrays: frozenset[int]) -> list[str]:
        lines = []
        for place, value in enumerate(operands):
            outside = value.lanes and value.ready != (number, LOOP) and place not in arrays
            if outside and value.name not in self._reloaded:
                self._reloaded.add(value.name)
                kind = c_type(value.kind, lanes=True)
                lines.append(f"    const {kind} {value.name} = ((const {kind}*){value.array})[g];")
        return lines

    def _statement(self, statement: Statement, *, in_loop: bool) -> str:
        names = [
            _array_text(value) if place in statement.arrays else operand_text(value, in_loop=in_loop)
            for place, value in enumerate(statement.operands)
        ]
        text = statement.text.format(*names)
        result = statement.result
        return (
            f"  {text};"
            if result is None
            else f"  const {c_type(result.kind, lanes=result.lanes)} {result.name} = {text};"
        )


def _array_text(value: Expression) -> str:
    return f"((const s_{value.kind.label}*){value.array})"
