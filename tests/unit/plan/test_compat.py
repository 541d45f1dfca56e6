"""The facts that come with rocmatrix say what the sources say, and each names its source."""

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat
from rocmatrix.plan.model import Evidence
from rocmatrix.plan.version import is_minor

COMPAT = load_compat()


@pytest.mark.parametrize(
    ("torch", "rocm", "evidence"),
    [
        ("2.10", "7.0", Evidence.VERIFIED),
        ("2.10", "7.1", Evidence.VERIFIED),
        ("2.13", "7.2", Evidence.VERIFIED),
        ("2.14", "7.14", Evidence.VERIFIED),
        ("2.14", "7.2", Evidence.UNVERIFIED),
        ("2.12", "7.14", Evidence.UNVERIFIED),
        ("2.15", "7.14", Evidence.UNVERIFIED),
        ("2.10", "7.2", None),
        ("2.13", "7.0", None),
        ("2.14", "7.1", None),
    ],
)
def test_pairs_are_those_of_the_one_table(torch: str, rocm: str, evidence: Evidence | None) -> None:
    pair = COMPAT.pair(torch, rocm)
    assert (pair.evidence if pair else None) == evidence


def test_every_fact_names_its_source_and_date() -> None:
    sources = [(row.source, row.date) for row in COMPAT.pairs]
    sources += [(row.source, row.date) for row in COMPAT.torches]
    sources += [(row.source, row.date) for row in COMPAT.retired]
    sources += [(row.source, row.date) for row in COMPAT.renamed]
    sources += [(row.source, row.date) for row in COMPAT.hip_sonames]
    sources += [(row.source, row.date) for row in COMPAT.archs]
    assert all(source and date for source, date in sources)


def test_every_version_in_the_file_is_a_minor_version() -> None:
    versions = [row.minor for row in COMPAT.torches]
    versions += [version for row in COMPAT.pairs for version in (row.torch, *row.rocm)]
    versions += [row.since for row in COMPAT.archs if row.since]
    assert all(is_minor(version) for version in versions)


def test_every_torch_with_a_pair_has_its_cxx_standard_and_soname() -> None:
    for row in COMPAT.pairs:
        assert COMPAT.cxx_standard(row.torch) in {"c++17", "c++20"}
        assert all(COMPAT.hip_soname(rocm).startswith("libamdhip64.so.") for rocm in row.rocm)


def test_the_cxx_standard_changes_with_torch_2_12() -> None:
    assert [COMPAT.cxx_standard(torch) for torch in ("2.9", "2.11", "2.12", "2.14")] == [
        "c++17",
        "c++17",
        "c++20",
        "c++20",
    ]


@pytest.mark.parametrize(
    ("rocm", "soname"),
    [("6.4", "libamdhip64.so.6"), ("7.0", "libamdhip64.so.7"), ("7.14", "libamdhip64.so.7")],
)
def test_the_soname_follows_the_hip_major(rocm: str, soname: str) -> None:
    assert COMPAT.hip_soname(rocm) == soname


def test_an_unknown_soname_is_said_not_guessed() -> None:
    with pytest.raises(InputError, match=r"8\.0 is not known"):
        COMPAT.hip_soname("8.0")


def test_an_unknown_torch_has_no_cxx_standard() -> None:
    with pytest.raises(InputError, match=r"torch 3\.0 is not known"):
        COMPAT.cxx_standard("3.0")


def test_rocm_10_calls_itself_hip_7_15() -> None:
    assert COMPAT.hip_name("10.0") == "7.15"
    assert COMPAT.pair("2.13", "7.15") is not None


def test_gfx950_needs_rocm_7() -> None:
    assert not COMPAT.arch_supported("6.4", "gfx950")
    assert COMPAT.arch_supported("7.14", "gfx950")
    assert COMPAT.arch_supported("6.4", "gfx942")


def test_withdrawn_archs_are_not_supported_and_name_their_successor() -> None:
    assert not COMPAT.arch_supported("7.2", "gfx940")
    assert COMPAT.replacement("gfx940") == "gfx942"
