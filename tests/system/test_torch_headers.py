"""The stable headers of the pinned torch: from the wheel that pip finds, and complete for a compiler."""

from pathlib import Path

import pytest

from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command, Completed
from rocmatrix.events import Event, Notice, Transfer
from rocmatrix.records import HeadersOrigin
from rocmatrix.toolchain.llvm.compiler import find_compiler
from rocmatrix.toolchain.llvm.facts import HIP_INCLUDE
from rocmatrix.toolchain.llvm.flags import Roots, Translation, cxx_flags
from rocmatrix.toolchain.torch_headers import stable_pin, torch_headers

pytestmark = [pytest.mark.needs_network, pytest.mark.needs_llvm]

CLOSED = {"shim_cpu.h", "shim_xpu.h"}
"""Headers that include ATen/Config.h, which torch closes with an #error as soon as TORCH_TARGET_VERSION is defined."""
MOST_BYTES = 3_000_000


@pytest.fixture(scope="module")
def headers(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, HeadersOrigin, list[Event]]:
    events: list[Event] = []
    include, origin = torch_headers(stable_pin().version, cache=tmp_path_factory.mktemp("cache"), emit=events.append)
    return include, origin, events


def syntax_check(include: Path, text: str, folder: Path) -> Completed:
    """Let the toolchain's compiler read a binding, with the flags that every binding is compiled with."""
    (folder / "all.cpp").write_text(text)
    engine = HostEngine()
    compiler = find_compiler(engine)
    roots = Roots(zig=compiler.lib, hip=HIP_INCLUDE, project=folder, generated=folder, torch=include)
    translation = Translation(extension="_x", standard="c++20", torch_target="2.10", include=(), extra=())
    flags = cxx_flags(roots, translation)
    argv = (str(compiler.program), "clang", *flags, "-fsyntax-only", str(folder / "all.cpp"))
    return engine.run(Command(argv=argv, cwd=folder, timeout=300.0))


def test_they_come_from_a_few_megabytes(headers: tuple[Path, HeadersOrigin, list[Event]]) -> None:
    _, origin, events = headers
    assert origin.headers_digest == stable_pin().headers_digest
    assert origin.torch.partition("+")[0] == stable_pin().version
    assert origin.wheel_digest.startswith("sha256:")
    transfers = [event for event in events if isinstance(event, Transfer)]
    match origin.how:
        case "local wheel":
            assert (origin.transferred, transfers) == (0, [])
        case "range requests":
            assert 0 < origin.transferred < MOST_BYTES
            assert transfers[-1].received == transfers[-1].total == origin.transferred
        case other:
            assert other == "whole wheel"
            assert any(isinstance(event, Notice) and "no range requests" in event.message for event in events)


def test_every_header_compiles_with_nothing_else_of_torch(
    headers: tuple[Path, HeadersOrigin, list[Event]], tmp_path: Path
) -> None:
    include, _, _ = headers
    names = sorted(path.relative_to(include).as_posix() for path in include.rglob("*.h") if path.name not in CLOSED)
    assert len(names) > 60
    done = syntax_check(include, "".join(f"#include <{name}>\n" for name in names), tmp_path)
    assert done.returncode == 0, done.output


@pytest.mark.parametrize("name", sorted(CLOSED))
def test_the_headers_that_torch_closes_for_stable_builds_are_known(
    headers: tuple[Path, HeadersOrigin, list[Event]], tmp_path: Path, name: str
) -> None:
    include, _, _ = headers
    done = syntax_check(include, f"#include <torch/csrc/inductor/aoti_torch/c/{name}>\n", tmp_path)
    assert done.returncode != 0
    assert "ATen/Config.h" in done.output
