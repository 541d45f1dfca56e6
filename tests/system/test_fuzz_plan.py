"""Two thousand seeds of the fuzzer over matrix.yaml and build.toml; ``tests.system.fuzz_plan`` runs as long as told."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.system.fuzz_plan import plan, plan_seed, seeds

NUMBER_OF_SEEDS = 2000


def test_the_files_that_are_mutated_can_be_planned() -> None:
    matrices, (manifest, *_) = seeds("matrix"), seeds("manifest")
    assert len(matrices) >= 4
    says = [plan(matrix.encode(), manifest.encode()).says for matrix in matrices]
    assert says.count("plan") >= 2, says


def test_mutated_files_end_with_a_plan_or_with_one_harmless_message() -> None:
    says = [plan_seed(number).says for number in range(NUMBER_OF_SEEDS)]
    assert len({said.partition("\n")[0] for said in says}) > NUMBER_OF_SEEDS / 5
    assert says.count("plan") > 5


@settings(max_examples=150, deadline=None)
@given(matrix=st.binary(max_size=300), manifest=st.binary(max_size=300))
def test_arbitrary_files_end_with_one_harmless_message(matrix: bytes, manifest: bytes) -> None:
    assert plan(matrix, manifest).says
    assert plan(seeds("matrix")[0].encode(), manifest).says
