"""``rocmatrix matrix update`` against servers on this machine: its real client, good indexes and lacking ones."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rocmatrix.plan.compat import load_compat, read_compat, shipped_compat
from rocmatrix.plan.model import Evidence
from rocmatrix.upstream.package_index import torch_versions
from rocmatrix.upstream.page_client import PageError
from tests.system.index_server import (
    Answer,
    in_turn,
    listing,
    page,
    serving,
    status,
    torch_page,
    wheels,
)
from tests.system.matrix_update import command, good_pages, known_wheels, update


def test_indexes_that_say_what_compat_says_confirm_what_nobody_had_seen(tmp_path: Path) -> None:
    with serving(good_pages()) as address:
        ended = update(tmp_path, address, "--json")
    assert ended.code == 0, ended.err
    unverified = {
        f"torch {row.torch} x ROCm {rocm}" for row in load_compat().pairs if not row.verified for rocm in row.rocm
    }
    assert dict(ended.changes()) == {"confirmed-pair": ended.changes()[-1][1]}
    assert {subject for _, subject in ended.changes()} == unverified
    assert ended.document["complete"]
    assert not ended.document["written"]


def new_things() -> dict[str, Answer]:
    torches = [name for name in known_wheels() if not name.startswith("torch-2.11.0+rocm7.1-")]
    torches += wheels("2.16.0", "7.14", ("310", "315")) + wheels("2.16.0", "10.1", ("315",)) + wheels("2.14.1", "7.16")
    return {
        **good_pages(),
        "/whl/torch/": page(torch_page(torches)),
        "/next/rocm/": page(listing(["rocm-10.1.0.tar.gz", "rocm-7.16.0.tar.gz"])),
        "/next/": page(listing(["rocm-sdk-device-gfx942/", "rocm-sdk-device-gfx1250/"])),
    }


def test_what_is_new_and_what_vanished_is_shown(tmp_path: Path) -> None:
    with serving(new_things()) as address:
        ended = update(tmp_path, address, "--json")
    changes = ended.changes()
    for expected in (
        ("new-torch", "torch 2.16"),
        ("new-rocm", "ROCm 7.16"),
        ("new-rocm", "ROCm 10.1"),
        ("new-pair", "torch 2.16 x ROCm 7.14"),
        ("new-pair", "torch 2.14 x ROCm 7.16"),
        ("vanished-pair", "torch 2.11 x ROCm 7.1"),
        ("new-arch", "gfx1250"),
    ):
        assert expected in changes
    says = {(one["kind"], one["subject"]): one for one in ended.document["changes"]}
    assert "SONAME of its libamdhip64" in says["new-rocm", "ROCm 7.16"]["says"]
    assert "torch.version.hip is not known" in says["new-rocm", "ROCm 10.1"]["says"]
    assert says["new-rocm", "ROCm 7.16"]["evidence"] == "unverified"
    assert says["new-pair", "torch 2.16 x ROCm 7.14"]["evidence"] == "verified"
    assert says["new-pair", "torch 2.14 x ROCm 7.16"]["evidence"] == "unverified"
    assert "its headers need is not known" in says["new-torch", "torch 2.16"]["says"]
    assert "vanished-pair no index lists torch 2.11 for ROCm 7.1 any more" in " ".join(ended.err.split())


def test_write_keeps_comments_and_adds_only_what_was_seen(tmp_path: Path) -> None:
    compat = tmp_path / "compat.toml"
    compat.write_bytes(shipped_compat())
    with serving(new_things()) as address:
        ended = update(tmp_path, address, "--json", "--compat", str(compat), "--write")
        again = update(tmp_path, address, "--json", "--compat", str(compat), "--write")
    assert ended.code == 0, ended.err
    assert ended.document["written"]
    after = read_compat(compat.read_bytes(), "compat.toml")
    pair = after.pair("2.16", "7.14")
    assert pair is not None
    assert pair.evidence is Evidence.VERIFIED
    assert pair.source == f"{address}/whl/torch/"
    assert after.pythons_of("2.16") == ("3.10", "3.15")
    assert after.cxx_standard("2.16") == "c++20"
    assert after.release("7.16") is not None
    assert after.release("10.1") is None
    assert after.pair("2.11", "7.1") is not None, "nothing is removed"
    confirmed = after.pair("2.14", "7.2")
    assert confirmed is not None
    assert confirmed.evidence is Evidence.VERIFIED
    before_lines = shipped_compat().decode().splitlines()
    after_lines = compat.read_text().splitlines()
    assert [line for line in before_lines if line.startswith("#")] == [
        line for line in after_lines if line.startswith("#")
    ]
    changed = [line for line in before_lines if line not in after_lines]
    assert all(line.startswith(("source = ", "date = ")) for line in changed)
    assert again.code == 0
    assert not again.document["written"], again.document["proposed"]


def test_a_server_that_is_busy_for_a_moment_is_asked_again(tmp_path: Path) -> None:
    pages = good_pages()
    pages["/whl/torch/"] = in_turn(status(503, Retry_After="0"), status(429, Retry_After="0"), pages["/whl/torch/"])
    with serving(pages) as address:
        ended = update(tmp_path, address, "--json", names=("pytorch",))
    assert ended.code == 0
    assert ended.document["complete"]


def test_a_redirect_within_the_host_is_followed_and_a_round_one_ends(tmp_path: Path) -> None:
    pages = {**good_pages(), "/rhel8/": status(301, Location="/rhel8/")}
    pages["/whl/torch/"], pages["/elsewhere/"] = status(308, Location="/elsewhere/"), pages["/whl/torch/"]
    with serving(pages) as address:
        ended = update(tmp_path, address, "--json", names=("pytorch", "classic"))
    assert ended.document["changes"]
    assert ended.reason("classic") == "it redirects more than 5 times"


def test_with_part_of_the_indexes_it_says_which_and_claims_nothing_about_the_rest(tmp_path: Path) -> None:
    pages = new_things()
    pages["/next/torch/"] = status(503, Retry_After="3600")
    with serving(pages) as address:
        ended = update(tmp_path, address)
    assert ended.code == 0
    assert "no answer from therock-torch: it is busy (503)" in ended.out
    assert "new-torch" in ended.out
    assert "vanished" not in ended.out


def test_without_any_index_it_is_the_environments_fault_and_nothing_is_changed(tmp_path: Path) -> None:
    compat = tmp_path / "mine.toml"
    compat.write_bytes(shipped_compat())
    with serving({}) as address:
        ended = update(tmp_path, address, "--json", "--compat", str(compat), "--write")
    assert ended.code == 3
    assert ended.err.count("error: ") == 1
    assert "no public index gives an answer that can be used" in ended.err
    assert "pytorch: it answers 404" in ended.err
    assert ended.document["error"]["exit_code"] == 3
    assert compat.read_bytes() == shipped_compat()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mine.toml", "sources.toml"]


@pytest.mark.parametrize(
    ("sources", "message"),
    [
        ("", "this is no file of sources"),
        ("schema = 2\nsources = []", "schema 2 is not known"),
        ("schema = 1\nsources = []", "the file names no source"),
        ('schema = 1\n[[sources]]\nname = "a"\nkind = "x"\ndate = ""\nsource = ""\nverified = true', "this is no file"),
        (
            'schema = 1\n[[sources]]\nname = "a"\nkind = "projects"\ndate = ""\nsource = ""\nverified = true\nurl = "file:///x"',
            "is not an address of HTTP",
        ),
        (
            'schema = 1\n[[sources]]\nname = "a"\nkind = "projects"\ndate = ""\nsource = ""\nverified = true\nurl = "http://u:p@h/"',
            "its address carries credentials",
        ),
    ],
)
def test_a_file_of_sources_that_is_none_is_an_input_error(sources: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(sources)
    ended = command("--sources", str(tmp_path / "s.toml"))
    assert ended.code == 2
    assert message in ended.err
    assert "p@h" not in ended.err


def test_write_without_a_file_to_write_to_is_a_usage_error() -> None:
    ended = command("--write")
    assert ended.code == 2
    assert "--write needs --compat FILE" in ended.err


def test_the_package_index_is_asked_through_pip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows = '[[sources]]\nname = "pip"\nkind = "torch-versions"\ndate = ""\nsource = ""\nverified = true\n'
    (tmp_path / "s.toml").write_text(f"schema = 1\n{rows}")
    names = ["torch-2.13.0-py3-none-any.whl", "torch-2.17.0-py3-none-any.whl", "torch-2.18.0rc1-py3-none-any.whl"]
    with serving({"/simple/torch/": page(listing(names)), "/empty/torch/": page(listing([]))}) as address:
        for name in ("PIP_EXTRA_INDEX_URL", "PIP_NO_INDEX", "PIP_FIND_LINKS"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/simple/")
        found = command("--json", "--sources", str(tmp_path / "s.toml"))
        monkeypatch.setenv("PIP_INDEX_URL", f"{address}/empty/")
        with pytest.raises(PageError, match="pip finds no torch in the index that it is configured with"):
            torch_versions(30)
    assert found.changes() == [("new-torch", "torch 2.17")]
    assert "no wheel for ROCm was seen" in found.document["changes"][0]["says"]
    assert found.document["proposed"] == []
