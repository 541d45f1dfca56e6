"""Who may have a pull request checked on a GPU: the program of the workflow, against an API of the tests."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / ".github/actions/authorize/authorize.py"
SHA = "0123456789abcdef0123456789abcdef01234567"
TOKEN = "ghs_tokenTOKENtoken"  # noqa: S105 - of nothing real
RIGHTS = {"ann": "admin", "bob": "write", "cy": "read", "mia/../ann": "none"}
PULLS = {
    7: {"state": "open", "head": {"sha": SHA}},
    8: {"state": "open", "head": {"sha": "f" * 40}},
    9: {"state": "closed", "head": {"sha": SHA}},
}


class _Api(BaseHTTPRequestHandler):
    """GitHub's answers to the two questions, for a repository with three people and three pull requests."""

    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        assert self.headers["Authorization"] == f"Bearer {TOKEN}"
        kind, _, rest = self.path.removeprefix("/repos/acme/source/").partition("/")
        found: object = None
        if kind == "collaborators" and (right := RIGHTS.get(rest.removesuffix("/permission"))):
            found = {"permission": right}
        if kind == "pulls":
            found = PULLS.get(int(rest))
        self.send_response(200 if found else 404)
        self.end_headers()
        self.wfile.write(json.dumps(found or {"message": "Not Found"}).encode())

    def log_message(self, *_: object) -> None:
        pass


Ask = Callable[..., tuple[int, str]]


@contextmanager
def answering(handler: type[BaseHTTPRequestHandler], **attributes: object) -> Iterator[str]:
    """Serve while the block runs, and yield the address."""
    with ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (handler,), attributes)) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def asked() -> list[str]:
    return []


@pytest.fixture
def ask(asked: list[str]) -> Iterator[Ask]:
    """Return a function that runs the script and gives its exit code and what it says."""
    with answering(_Api, asked=asked) as address:

        def run(**changed: str) -> tuple[int, str]:
            variables = {
                "PATH": os.environ["PATH"],
                "GITHUB_API_URL": address,
                "GITHUB_REPOSITORY": "acme/source",
                "GITHUB_REF": "refs/heads/main",
                "DEFAULT_BRANCH": "main",
                "GITHUB_TRIGGERING_ACTOR": "bob",
                "NUMBER": "7",
                "SHA": SHA,
                "TOKEN": TOKEN,
            }
            done = subprocess.run(
                [sys.executable, "-I", str(SCRIPT)],
                env=variables | changed,
                capture_output=True,
                text=True,
                check=False,
                timeout=60,
            )
            assert "Traceback" not in done.stderr, done.stderr
            assert TOKEN not in done.stdout + done.stderr
            return done.returncode, done.stdout + done.stderr

        yield run


class _Broken(BaseHTTPRequestHandler):
    """Answers that are none."""

    answer: bytes

    def do_GET(self) -> None:
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{", "IncompleteRead"),
        (b"nonsense\r\n\r\n", "BadStatusLine"),
        (b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"\r\n", "HTTPException"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b'{"a":' * 100_000, "RecursionError"),
        (b"HTTP/1.1 200 OK\r\n\r\n\xff", "UnicodeDecodeError"),
        (b"HTTP/1.1 200 OK\r\n\r\n" + b"9" * 10_000, "ValueError"),
        (b"HTTP/1.1 200 OK\r\n\r\n[]", "is none"),
    ],
)
def test_an_answer_that_is_none_is_a_refusal(ask: Ask, answer: bytes, said: str) -> None:
    with answering(_Broken, answer=answer) as address:
        code, text = ask(GITHUB_API_URL=address)
    assert code == 1
    assert text.startswith("refused: ")
    assert said in text


@pytest.mark.parametrize("actor", ["ann", "bob"])
def test_who_may_write_is_let_through_for_the_commit_that_it_is_at(ask: Ask, actor: str) -> None:
    assert ask(GITHUB_TRIGGERING_ACTOR=actor) == (0, "authorized\n")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"GITHUB_REF": "refs/heads/patch"}, "from the default branch alone"),
        ({"GITHUB_REF": "refs/tags/main"}, "from the default branch alone"),
        ({"GITHUB_REF": "refs/heads/", "DEFAULT_BRANCH": ""}, "from the default branch alone"),
        ({"GITHUB_TRIGGERING_ACTOR": "cy"}, "cy may not write here"),
        ({"GITHUB_TRIGGERING_ACTOR": "eve"}, "GitHub answers 404"),
        ({"GITHUB_TRIGGERING_ACTOR": ""}, "nobody is named"),
        ({"GITHUB_TRIGGERING_ACTOR": "ann/permission?x="}, "GitHub answers 404"),
        ({"NUMBER": "8"}, f"the pull request is at {'f' * 40} by now"),
        ({"NUMBER": "9"}, "is not open"),
        ({"NUMBER": "77"}, "GitHub answers 404"),
        ({"GITHUB_API_URL": "http://127.0.0.1:9"}, "GitHub does not answer"),
    ],
)
def test_everything_else_is_refused_with_the_reason(ask: Ask, changed: dict[str, str], said: str) -> None:
    code, text = ask(**changed)
    assert code == 1
    assert text.startswith("refused: ")
    assert said in text


@pytest.mark.parametrize(
    "changed",
    [
        {"NUMBER": "7/../8"},
        {"NUMBER": "0"},
        {"NUMBER": "7\n::add-mask::x"},
        {"NUMBER": "\u0667"},
        {"NUMBER": ""},
        {"SHA": SHA[:12]},
        {"SHA": SHA.upper()},
        {"SHA": f"{SHA}\n"},
        {"SHA": "main"},
    ],
)
def test_what_is_no_number_or_no_full_commit_is_refused_before_anything_is_asked(
    ask: Ask, asked: list[str], changed: dict[str, str]
) -> None:
    assert ask(**changed) == (1, "refused: number and sha are a number and a full commit\n")
    assert asked == []


def test_a_name_acts_on_no_log(ask: Ask) -> None:
    code, text = ask(GITHUB_TRIGGERING_ACTOR="cy\n::error::x##[error]y")
    assert code == 1
    assert len(text.splitlines()) == 1
    assert "##[" not in text
