"""The comparison of compat.toml with what indexes list, and the text that a proposal makes of it."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.errors import InputError
from rocmatrix.plan.compat import load_compat, read_compat, shipped_compat
from rocmatrix.plan.compat_changes import ChangeKind, compare, hip_of
from rocmatrix.plan.compat_proposal import propose
from rocmatrix.plan.survey import Observation, Silence, Survey, TorchWheel
from rocmatrix.upstream.pages import device_archs, names_in, rocm_folders, rocm_packages, torch_wheels

COMPAT = load_compat()
KNOWN = frozenset(
    TorchWheel(torch=row.torch, release=next(one.release for one in COMPAT.releases if one.hip == rocm), python="3.12")
    for row in COMPAT.pairs
    for rocm in row.rocm
)
minors = st.builds(lambda major, minor: f"{major}.{minor}", st.integers(1, 12), st.integers(0, 20))
surveys = st.builds(
    lambda wheels, releases, torches, archs: Survey(
        observations=(
            Observation(source="a", url="https://a/", wheels=wheels),
            Observation(
                source="b", url="https://b/", releases=releases, torches=torches, archs=archs, stream="therock"
            ),
        ),
        silences=(),
    ),
    st.frozensets(st.builds(TorchWheel, torch=minors, release=minors, python=minors), max_size=20),
    st.lists(minors, max_size=5).map(tuple),
    st.lists(minors, max_size=5).map(tuple),
    st.lists(st.sampled_from(["gfx942", "gfx1250", "gfx1310"]), max_size=3).map(tuple),
)


def survey(wheels: frozenset[TorchWheel], *silences: Silence) -> Survey:
    return Survey(observations=(Observation(source="a", url="https://a/", wheels=wheels),), silences=silences)


def test_a_pair_is_only_said_to_be_gone_if_every_index_of_wheels_answered() -> None:
    less = KNOWN - {TorchWheel(torch="2.13", release="7.2", python="3.12")}
    gone = [change for change in compare(COMPAT, survey(less)) if change.kind is ChangeKind.VANISHED_PAIR]
    assert [change.subject for change in gone] == ["torch 2.13 x ROCm 7.2"]
    other = Silence(source="b", reason="it answers 404", lists_wheels=True)
    assert not any(change.kind is ChangeKind.VANISHED_PAIR for change in compare(COMPAT, survey(less, other)))
    listing = Silence(source="c", reason="it answers 404", lists_wheels=False)
    assert any(change.kind is ChangeKind.VANISHED_PAIR for change in compare(COMPAT, survey(less, listing)))


def test_rocm_10_on_an_index_is_the_pair_with_7_15() -> None:
    (change,) = [
        change
        for change in compare(COMPAT, survey(KNOWN | {TorchWheel(torch="2.14", release="10.0", python="3.12")}))
        if change.kind is ChangeKind.NEW_PAIR
    ]
    assert change.subject == "torch 2.14 x ROCm 7.15"
    assert "for ROCm 10.0, which calls itself 7.15," in change.says


def test_what_an_unknown_release_calls_itself_is_only_assumed_below_10() -> None:
    assert hip_of(COMPAT, "10.0") == "7.15"
    assert hip_of(COMPAT, "7.16") == "7.16"
    assert hip_of(COMPAT, "10.1") is None


def test_torches_before_the_first_of_compat_are_left_out() -> None:
    old = frozenset({TorchWheel(torch="2.5", release="6.2", python="3.12")})
    assert {change.torch for change in compare(COMPAT, survey(KNOWN | old))} == {
        change.torch for change in compare(COMPAT, survey(KNOWN))
    }


def proposal_of(found: Survey) -> tuple[bytes, int]:
    changes = compare(COMPAT, found)
    urls = {one.source: one.url for one in found.observations}
    made = propose(shipped_compat(), changes, where="compat.toml", date="2026-12", urls=urls)
    return made.content, len(made.changes)


@settings(max_examples=10, deadline=None)
@given(found=surveys)
def test_whatever_is_found_the_text_says_it_and_a_second_time_there_is_nothing_to_write(found: Survey) -> None:
    content, _ = proposal_of(found)
    after = read_compat(content, "compat.toml")
    assert after.archs == COMPAT.archs
    assert after.hip_sonames == COMPAT.hip_sonames
    for row in COMPAT.pairs:
        assert all(after.pair(row.torch, rocm) is not None for rocm in row.rocm)
    again = compare(after, found)
    urls = {one.source: one.url for one in found.observations}
    assert propose(content, again, where="compat.toml", date="2026-12", urls=urls).content == content


def test_nothing_found_changes_no_byte() -> None:
    nothing = Survey(observations=(Observation(source="a", url="pip", torches=("2.13",)),), silences=())
    assert proposal_of(nothing) == (shipped_compat(), 0)


def test_a_file_of_another_layout_is_refused_and_not_damaged() -> None:
    text = shipped_compat().replace(b"[[pairs]]", b"  [[pairs]]  # indented")
    changes = compare(COMPAT, survey(KNOWN))
    assert changes
    with pytest.raises(InputError, match="cannot be changed line by line"):
        propose(text, changes, where="x.toml", date="2026-12", urls={"a": "https://a/"})


def test_urls_with_quotes_stay_one_value() -> None:
    found = replace(survey(KNOWN), observations=(Observation(source="a", url='https://a/"\n[[x]]', wheels=KNOWN),))
    content, written = proposal_of(found)
    assert written
    assert read_compat(content, "compat.toml").pairs[-1].source


PAGE = """<a href="https://x.invalid/whl/torch-2.14.0%2Brocm7.14-cp313-cp313t-manylinux_2_28_x86_64.whl#sha256=0">x</a>
<A class=y HREF='torch-2.12.1+rocm7.2.4-cp310-cp310-linux_x86_64.whl'>y</A>
<a href="torch-2.16.0rc1+rocm7.14-cp313-cp313-manylinux_2_28_x86_64.whl"></a>
<a href="torch-2.16.0.dev20260101+rocm7.14-cp314-cp313-manylinux_2_28_x86_64.whl"></a>
<a href="torch-2.14.0+cu130-cp313-cp313-manylinux_2_28_x86_64.whl"></a>
<a href="torch-2.14.0+rocm7.14-cp311-cp311-win_amd64.whl"></a>
<a href="torch-2.14.0+rocm7.14-cp312-cp312-manylinux_2_28_aarch64.whl"></a>
<a href="torchvision-0.28.0+rocm7.14-cp313-cp313-manylinux_2_28_x86_64.whl"></a>
<a href="rocm-7.14.0.post1.tar.gz"></a><a href="rocm-7.15.0a20260712.tar.gz"></a>
<a href="7.2.4/"></a><a href="/rocm/rhel8/6.4/"></a><a href="latest/"></a><a href="http://[::1">
<a href="rocm-sdk-device-gfx942/"></a><a href="rocm-sdk-device-gfx12-0/"></a></html>"""


def test_links_are_read_for_what_they_name_and_nothing_else() -> None:
    names = names_in(PAGE)
    assert torch_wheels(names) == {
        TorchWheel(torch="2.14", release="7.14", python="3.13"),
        TorchWheel(torch="2.12", release="7.2", python="3.10"),
    }
    assert rocm_packages(names) == ("7.14",)
    assert rocm_folders(names) == ("6.4", "7.2")
    assert device_archs(names) == ("gfx942",)


@given(text=st.text(alphabet="<a hrefHREF='\"=>/torch-2.1+rocm7cp310whl\n\0\u0662[%"))
def test_any_page_is_read_without_an_error(text: str) -> None:
    names = names_in(text)
    assert all(wheel.torch.isascii() for wheel in torch_wheels(names))
