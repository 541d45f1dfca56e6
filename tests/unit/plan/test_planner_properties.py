"""What holds for every matrix, whatever its axes, rules and kernels are."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.model import CellState, Plan
from tests.unit.plan.client import client_choice
from tests.unit.plan.samples import NOARCH, PER_TORCH, STABLE, plan_of

COMPAT = load_compat()
ARCHS = ["gfx942", "gfx950"]
PROJECTS = {"a-stable": STABLE, "b-torch": PER_TORCH, "c-noarch": NOARCH}


def subset(values: Sequence[str]) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(values), min_size=1, unique=True)


PAIRS = [(row.torch, rocm) for row in COMPAT.pairs for rocm in row.rocm]


def rule(pair: tuple[str, str], archs: list[str] | None) -> dict[str, object]:
    named: dict[str, object] = {"torch": pair[0], "rocm": pair[1]}
    return named if archs is None else {**named, "archs": archs}


@st.composite
def matrices(draw: st.DrawFn) -> dict[str, object]:
    """Return the keys of a matrix.yaml whose axes come from pairs that exist, so that most of them can be planned."""
    pairs = draw(st.lists(st.sampled_from(PAIRS), min_size=1, max_size=6, unique=True))
    torch, rocm = sorted({torch for torch, _ in pairs}), sorted({rocm for _, rocm in pairs})
    product = [(one, other) for one in torch for other in rocm]
    new = [pair for pair in PAIRS if pair not in product]
    archs = st.none() | subset(ARCHS)
    included = draw(st.lists(st.sampled_from(new or PAIRS), max_size=2, unique=True))
    excluded = draw(st.lists(st.sampled_from(product), max_size=2, unique=True))
    return {
        "kernels": draw(subset(list(PROJECTS))),
        "torch": draw(st.permutations(torch)),
        "rocm": draw(st.permutations(rocm)),
        "archs": draw(subset(ARCHS)),
        "abi": draw(st.sampled_from(["auto", "per-torch"])),
        "include": [rule(pair, draw(archs)) for pair in included],
        "exclude": [rule(pair, draw(archs)) for pair in excluded],
    }


def flow(value: object) -> str:
    """Return a value in YAML's flow style, every string in quotes."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(inner)}" for key, inner in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]" if isinstance(value, list) else f'"{value}"'


def text_of(matrix: dict[str, object]) -> str:
    return "schema: 1\n" + "".join(f"{key}: {flow(value)}\n" for key, value in matrix.items())


def outcome(matrix: dict[str, object]) -> Plan | None:
    """Return the plan, or ``None`` where the matrix is refused as bad input; anything else is a failure."""
    names = matrix["kernels"]
    assert isinstance(names, list)
    try:
        return plan_of(text_of(matrix), {name: PROJECTS[name] for name in names}, toolchain="llvm")
    except InputError:
        return None


@settings(max_examples=150, deadline=None)
@given(matrix=matrices())
def test_every_promise_has_exactly_one_fate_and_no_unit_is_idle(matrix: dict[str, object]) -> None:
    if (plan := outcome(matrix)) is None:
        return
    assert len({cell.id for cell in plan.cells}) == len(plan.cells)
    assert len({unit.id for unit in plan.units}) == len(plan.units)
    for cell in plan.cells:
        assert cell.reason
        assert (cell.state is CellState.SERVED) == (cell.unit is not None) == (cell.reason_code is None)
        serving = [unit.id for unit in plan.units if cell.id in unit.serves]
        assert serving == ([cell.unit] if cell.unit else [])
    for unit in plan.units:
        assert unit.serves
        if unit.rocm is not None:
            served = [cell for cell in plan.cells if cell.unit == unit.id]
            assert {arch for cell in served for arch in cell.archs} == set(unit.archs)
            assert all(cell.rocm == unit.rocm for cell in served)
            assert plan.toolchain(unit.toolchain or "").rocm == unit.rocm


@settings(max_examples=100, deadline=None)
@given(matrix=matrices())
def test_the_client_picks_the_planned_unit_for_every_served_cell(matrix: dict[str, object]) -> None:
    if (plan := outcome(matrix)) is None:
        return
    for cell in plan.cells:
        if cell.unit is not None:
            variants = [unit.variant for unit in plan.units if unit.kernel == cell.kernel]
            assert client_choice(variants, torch=cell.torch, hip=f"{cell.rocm}.1") == plan.unit(cell.unit).variant


@settings(max_examples=100, deadline=None)
@given(matrix=matrices(), data=st.data())
def test_the_order_of_the_axes_does_not_matter(matrix: dict[str, object], data: st.DataObject) -> None:
    shuffled = dict(matrix)
    for axis in ("kernels", "torch", "rocm", "archs"):
        values = matrix[axis]
        assert isinstance(values, list)
        shuffled[axis] = data.draw(st.permutations(values))
    assert outcome(shuffled) == outcome(matrix)


def test_the_generated_matrices_are_often_good() -> None:
    """The properties above would be empty if every generated matrix were refused."""
    good: dict[str, object] = {
        "kernels": list(PROJECTS),
        "torch": ["2.12", "2.13"],
        "rocm": ["7.2"],
        "archs": ARCHS,
        "abi": "auto",
    }
    assert outcome(good) is not None
