"""The facts that come with rocmatrix say what the sources say, and each names its source."""

import pytest

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat, read_compat, shipped_compat
from rocmatrix.plan.model import Evidence
from rocmatrix.plan.version import is_minor, minor_key

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
    sources += [(row.source, row.date) for row in COMPAT.releases]
    sources += [(row.source, row.date) for row in COMPAT.streams]
    sources += [(row.source, row.date) for row in COMPAT.pythons]
    sources += [(row.source, row.date) for row in COMPAT.processors]
    sources += [(row.source, row.date) for row in COMPAT.hip_sonames]
    sources += [(row.source, row.date) for row in COMPAT.archs]
    assert all(source and date for source, date in sources)


def test_every_version_in_the_file_is_a_minor_version() -> None:
    versions = [row.minor for row in COMPAT.torches]
    versions += [version for row in COMPAT.pairs for version in (row.torch, *row.rocm)]
    versions += [row.since for row in COMPAT.archs if row.since]
    versions += [version for row in COMPAT.releases for version in (row.release, row.hip)]
    versions += [version for row in COMPAT.streams for version in (row.first, row.last or row.first)]
    versions += [version for row in COMPAT.pythons for version in (row.torch, *row.python)]
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


def test_each_release_lies_in_its_stream_and_the_streams_do_not_overlap() -> None:
    streams = {row.name: row for row in COMPAT.streams}
    for row in COMPAT.releases:
        stream = streams[row.stream]
        assert minor_key(stream.first) <= minor_key(row.release)
        assert stream.last is None or minor_key(row.release) <= minor_key(stream.last)
    assert minor_key(streams["classic"].last or "") < minor_key(streams["therock"].first)


def test_every_rocm_of_a_pair_is_what_some_release_calls_itself() -> None:
    says = {row.hip for row in COMPAT.releases}
    assert {rocm for row in COMPAT.pairs for rocm in row.rocm} <= says


def test_only_rocm_10_says_another_number_than_its_own() -> None:
    renamed = {row.release: row.hip for row in COMPAT.releases if row.release != row.hip}
    assert renamed == {"10.0": "7.15"}
    assert COMPAT.hip_name("7.14") is None
    assert COMPAT.hip_name("7.15") is None


def test_every_torch_has_its_pythons() -> None:
    assert COMPAT.pythons_of("2.8") == ("3.9", "3.10", "3.11", "3.12", "3.13")
    assert all(COMPAT.pythons_of(row.minor) for row in COMPAT.torches)
    assert COMPAT.pythons_of("3.0") == ()


def test_every_arch_that_rocm_targets_or_amd_withdrew_is_a_processor_of_some_llvm() -> None:
    assert all(COMPAT.is_processor(row.name) for row in COMPAT.archs)
    assert all(COMPAT.is_processor(row.name) for row in COMPAT.retired)
    assert COMPAT.is_processor("gfx9-4-generic")
    assert not COMPAT.is_processor("gfx943")


def test_a_file_that_is_no_compat_toml_is_an_input_error() -> None:
    assert read_compat(shipped_compat(), "compat.toml") == COMPAT
    for content in (b"", b"\xff", b"schema = 1", shipped_compat().replace(b"verified = true", b"verified = 1", 1)):
        with pytest.raises(InputError, match=r"x\.toml: this is no compat\.toml"):
            read_compat(content, "x.toml")
