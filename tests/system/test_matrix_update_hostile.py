"""``rocmatrix matrix update`` and servers that nobody should trust: each is told by its reason, at no cost but time."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from tests.system.index_server import Answer, cut_off, endless, page, raw, serving, status, torch_page, wheels
from tests.system.matrix_update import Ended, known_wheels, source

HOSTILE: dict[str, tuple[Answer, str]] = {
    "not there": (status(404), "it answers 404"),
    "forbidden": (status(403), "it answers 403"),
    "broken": (status(500), "it answers 500"),
    "busy for an hour": (status(429, Retry_After="3600"), "it is busy (429), and asks to come back in more than 10 s"),
    "busy for ever": (status(503, Retry_After="0"), "it is busy (503)"),
    "busy until doomsday": (
        status(503, Retry_After="9" * 400),
        "it is busy (503), and asks to come back in more than 10 s",
    ),
    "elsewhere": (
        status(302, Location="http://localhost:1/x/"),
        "it redirects to another host, 'http://localhost:1/x/'",
    ),
    "elsewhere, unreadable": (status(302, Location="http://[::1"), "it redirects to another host"),
    "elsewhere, a file": (status(302, Location="file:///etc/passwd"), "it redirects to another host"),
    "nowhere": (status(302), "it redirects more than 5 times"),
    "huge": (endless(b"<a href='x'>" * 10_000), "it sends more than 16777216 bytes"),
    "slow": (endless(b" ", 0.05), "no answer within 4 s"),
    "slow before its headers end": (endless(b"X-A: b\r\n", 0.05, head=False), "no answer within 4 s"),
    "cut off": (cut_off(torch_page(wheels("2.13.0", "7.2")), announced=True), "its page is cut off"),
    "cut off unannounced": (cut_off(torch_page(wheels("2.13.0", "7.2")), announced=False), "or it is cut off"),
    "garbage": (page("\x00\x1b[31m::error::\u202e" * 999), "its page is no HTML"),
    "another page": (page("<html>Please log in <a href='/login'>here</a></html>"), "nothing of what it is asked for"),
    "compressed": (status(200, Content_Encoding="gzip"), "it sends content as 'gzip'"),
    "an encoding with escapes": (status(200, Content_Encoding="\x1b[31m"), "it sends content as"),
    "not HTTP": (raw(b"SSH-2.0-x\r\n"), "no connection"),
}


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Ended:
    """Ask all of them at once, beside one good index, in a process of its own, since threads may be left behind.

    Each must be told by itself, and the good one still count.
    """
    folder = tmp_path_factory.mktemp("hostile")
    pages = {f"/{n}/": answer for n, (answer, _) in enumerate(HOSTILE.values())}
    pages["/whl/torch/"] = page(torch_page(known_wheels()))
    with serving(pages) as address:
        rows = [("good", f"{address}/whl/torch/")]
        rows += [(name, f"{address}/{n}/") for n, name in enumerate(HOSTILE)]
        text = "".join(source(name, "torch-wheels", url) for name, url in rows)
        (folder / "sources.toml").write_text(f"schema = 1\n{text}")
        words = ["matrix", "update", "--json", "--timeout", "4", "--sources", "sources.toml"]
        started = time.monotonic()
        done = subprocess.run(
            [sys.executable, "-m", "rocmatrix", *words],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
            cwd=folder,
        )
    return Ended(code=done.returncode, out=done.stdout, err=done.stderr, seconds=time.monotonic() - started)


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_server_is_told_by_its_reason(name: str, hostile: Ended) -> None:
    assert HOSTILE[name][1] in (hostile.reason(name) or "")


def test_hostile_servers_cost_no_more_than_the_time_that_was_allowed(hostile: Ended) -> None:
    assert hostile.code == 0
    assert hostile.seconds < 20
    assert not hostile.document["complete"]
    assert "no answer from slow: no answer within 4 s" in hostile.err
    assert hostile.err.replace("\n", "").isprintable()
    assert not any(kind in {"vanished-pair", "unseen-pair"} for kind, _ in hostile.changes())
