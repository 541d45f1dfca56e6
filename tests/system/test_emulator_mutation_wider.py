"""Mutants with which more lanes load than are meant: when nobody uses that, and when it must not be said.

Memory is full of zeros, and so are the registers before a load: no result shows what is used.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.instruction import Instruction
from rocmatrix.emulator.interpreter import Program
from rocmatrix.emulator.semantics.machine import Space
from rocmatrix.emulator.wave import Wave
from tests.corpus.trial import Trial
from tests.mutation.coverage import covered_by
from tests.mutation.operators import Mutant, Operator, mutants
from tests.mutation.patched import MutantPrograms
from tests.mutation.stretches import stretch_of
from tests.mutation.subjects import Subject
from tests.mutation.wider import Wider
from tests.system.emulator_analysis_assembly import assemble

pytestmark = pytest.mark.needs_llvm

WORK_ITEMS, MEANT = 128, 16
"""Of the first wave some lanes load, of the second none."""
BEGIN = f"""
s_load_dwordx4 s[4:7], s[0:1], 0x0
v_lshlrev_b32 v4, 2, v0
v_mov_b32 v3, 0
v_cmp_gt_u32 s[12:13], {MEANT}, v0
s_mov_b64 s[14:15], -1
s_waitcnt lgkmcnt(0)
"""
MASK = "s_and_saveexec_b64 s[10:11], s[12:13]"  # of the mutant: s[14:15], all lanes
SKIP, LOAD, WAIT = "s_cbranch_execz 3", "global_load_ubyte v3, v0, s[4:5]", "s_waitcnt vmcnt(0)"
JOIN, ONLY_MEANT = "s_or_b64 exec, exec, s[10:11]", "s_and_b64 exec, exec, s[12:13]"
STORE, END = "global_store_dword v4, v3, s[6:7]", "s_endpgm"
FAR = "global_load_ubyte v3, v4, s[4:5]"  # a quarter of the lanes find something there
TWICE = "v_add_u32 v3, v3, v3"
FEWER = "s_and_saveexec_b64 s[16:17], s[12:13]"  # saves other lanes than the original
COPIES = (f"{MASK}; s_cbranch_execz 5", LOAD, WAIT, JOIN, "s_branch 1", JOIN, ONLY_MEANT, STORE, END)
OTHERS = (f"{MASK}; s_cbranch_execz 5", LOAD, WAIT, JOIN, "s_branch 2", JOIN, TWICE, ONLY_MEANT, STORE, END)
KERNELS = {
    "unused": (MASK, SKIP, LOAD, WAIT, JOIN, ONLY_MEANT, STORE, END),
    "used": (MASK, SKIP, LOAD, WAIT, JOIN, STORE, END),
    "beyond": (MASK, SKIP, FAR, WAIT, JOIN, ONLY_MEANT, STORE, END),
    "copies": COPIES,
    "others": OTHERS,
    "saved": (MASK, SKIP, LOAD, WAIT, FEWER, JOIN, ONLY_MEANT, STORE, END),
    "stores": (MASK, SKIP, LOAD, STORE, JOIN, ONLY_MEANT, STORE, END),
    "reads_lane": (MASK, SKIP, LOAD, "v_readlane_b32 s20, v3, 0", JOIN, ONLY_MEANT, STORE, END),
}


@pytest.fixture(scope="module")
def subjects(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Subject]:
    bodies = {name: BEGIN + "\n".join(code) for name, code in KERNELS.items()}
    code = assemble(bodies, tmp_path_factory.mktemp("lanes"), pointers=2)
    trial = Trial(
        name="zeros",
        kernel="",
        geometry=Geometry(grid=(1, 1, 1), block=(WORK_ITEMS, 1, 1)),
        inputs=(np.zeros(WORK_ITEMS, np.uint8),),
        out=np.zeros(WORK_ITEMS, np.int32),
        scalars=(),
        reference=lambda: np.zeros(WORK_ITEMS),
        rtol=0.0,
        atol=0.0,
        accumulates=True,
    )
    return {name: Subject(name=name, code=code, kernel=name, trials=(replace(trial, kernel=name),)) for name in KERNELS}


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("code")


def of_mask(subject: Subject, operator: Operator = Operator.SOURCE) -> Mutant:
    """Return the mutant of the first mask."""
    return next(
        each
        for each in mutants(subject.listing())
        if each.instruction.name == "s_and_saveexec_b64" and each.operator is operator
    )


@pytest.mark.parametrize(
    ("name", "unused"),
    [
        ("unused", True),
        ("used", False),
        ("beyond", False),
        ("copies", True),
        ("others", False),
        ("saved", False),
    ],
)
def test_what_more_lanes_load_is_called_unused_where_nothing_depends_on_it(
    subjects: dict[str, Subject], cache: Path, name: str, *, unused: bool
) -> None:
    subject = subjects[name]
    assert Wider(subject, cache).is_unused(of_mask(subject)) is unused


@pytest.mark.parametrize(("name", "governed"), [("unused", True), ("stores", False), ("reads_lane", False)])
def test_a_mask_of_more_than_loads_and_arithmetic_is_left_alone(
    subjects: dict[str, Subject], name: str, *, governed: bool
) -> None:
    subject = subjects[name]
    assert (stretch_of(subject.listing(), of_mask(subject)) is not None) is governed


def test_a_mask_that_is_removed_must_have_saved_what_was_saved_before(
    subjects: dict[str, Subject], cache: Path
) -> None:
    assert not Wider(subjects["unused"], cache).is_unused(of_mask(subjects["unused"], Operator.REMOVE))


class Watched:
    """Notes what the reference executes."""

    def __init__(self) -> None:
        self.addresses: set[int] = set()
        self.most = 0

    def before(self, wave: Wave, instruction: Instruction) -> None:
        del instruction
        self.addresses.add(wave.pc)

    def after(self, wave: Wave, instruction: Instruction) -> None:
        pass

    def access(
        self,
        wave: Wave,
        space: Space,
        addresses: NDArray[np.integer],
        size: int,
        lanes: NDArray[np.bool_],
        *,
        reads: bool,
        writes: bool,
    ) -> None:
        pass

    def barrier(self, waves: tuple[Wave, ...]) -> None:
        pass

    def end(self, wave: Wave) -> None:
        self.most = max(self.most, wave.executed)


def test_what_a_launch_executes_is_what_the_reference_executes(subjects: dict[str, Subject], cache: Path) -> None:
    subject, watched = subjects["copies"], Watched()
    (trial,) = subject.trials
    trial.run(subject.code, Device(Program), Options(), watched)
    covered = covered_by(trial, subject.code, Options(), cache, MutantPrograms(cache, subject.image))
    assert (set(covered.addresses), covered.most) == (watched.addresses, watched.most)
