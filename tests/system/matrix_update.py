"""``rocmatrix matrix update`` on sources that lie on this machine: how the tests run it, and what good indexes list."""

from __future__ import annotations

import contextlib
import io
import json
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocmatrix.cli.main import main
from rocmatrix.plan.compat import load_compat
from tests.system.index_server import Answer, listing, page, torch_page, wheels

KINDS = {
    "pytorch": ("torch-wheels", "/whl/torch/"),
    "therock-torch": ("torch-wheels", "/next/torch/"),
    "classic": ("rocm-folders", "/rhel8/"),
    "therock": ("rocm-packages", "/next/rocm/"),
    "devices": ("projects", "/next/"),
}


def release_of(hip: str) -> str:
    return next(row.release for row in load_compat().releases if row.hip == hip)


def known_wheels() -> list[str]:
    """Return the wheels of every pair that compat.toml has, so that nothing is missing and nothing is new."""
    pairs = [(row.torch, rocm) for row in load_compat().pairs for rocm in row.rocm]
    return [name for torch, rocm in pairs for name in wheels(f"{torch}.0", f"{release_of(rocm)}", ("312",))]


def good_pages() -> dict[str, Answer]:
    return {
        "/whl/torch/": page(torch_page(known_wheels())),
        "/next/torch/": page(torch_page(wheels("2.13.0", "10.0.0", ("312",)))),
        "/rhel8/": page(listing(["5.7.1/", "6.4.2/", "7.2/", "7.2.4/", "latest/"])),
        "/next/rocm/": page(listing(["rocm-7.14.0.tar.gz", "rocm-10.0.0.tar.gz", "rocm-10.1.0rc1.tar.gz"])),
        "/next/": page(listing(["rocm/", "rocm-sdk-device-gfx942/", "torch/"])),
    }


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    err: str
    seconds: float

    @property
    def document(self) -> dict[str, Any]:
        made: dict[str, Any] = json.loads(self.out)
        return made

    def changes(self) -> list[tuple[str, str]]:
        return [(one["kind"], one["subject"]) for one in self.document["changes"]]

    def reason(self, source: str) -> str | None:
        return next(str(one["reason"]) for one in self.document["sources"] if one["name"] == source)


def source(name: str, kind: str, url: str, stream: str = "") -> str:
    more = f'stream = "{stream}"\n' if stream else ""
    head = f'[[sources]]\nname = "{name}"\nkind = "{kind}"\nurl = "{url}"\n{more}'
    return f'{head}date = "2026-11"\nsource = "this test"\nverified = true\n'


def command(*words: str) -> Ended:
    """Run the command line within this process."""
    out, err, started = io.StringIO(), io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["matrix", "update", *words])
    return Ended(code=code, out=out.getvalue(), err=err.getvalue(), seconds=time.monotonic() - started)


def update(folder: Path, address: str, *words: str, names: tuple[str, ...] = tuple(KINDS)) -> Ended:
    """Run the command with the sources that lie below an address."""
    rows = []
    for name in names:
        kind, path = KINDS[name]
        rows.append(source(name, kind, f"{address}{path}", stream=name if kind.startswith("rocm-") else ""))
    (folder / "sources.toml").write_text("schema = 1\n" + "".join(rows))
    return command("--sources", str(folder / "sources.toml"), *words)
