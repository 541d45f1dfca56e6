"""What torch has of the symbols that binaries ask for: made torches, wheels on a server, and the real torch."""

from __future__ import annotations

import zipfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

from rocmatrix.audit.facts import Expectation
from rocmatrix.audit.path import audit_path
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.reading import read_everything
from rocmatrix.audit.torch_shelf import TorchShelf, torch_reader
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.events import discard
from rocmatrix.records import Finding
from rocmatrix.toolchain.torch_exports import LIBRARIES, open_torch
from tests.system.audit_controls import SO, Recipe, Workshop

SYMBOL, OTHER = "_ZNK2at6Tensor3dimEv", "_ZN3c105ErrorD1Ev"
VARIANT = "torch213-cxx11-rocm72-x86_64-linux"
RECIPE = Recipe(
    libraries=(*Recipe().libraries, ("libtorch_cpu.so", SYMBOL, "T"), ("libc10.so", OTHER, "T")),
    declare=f"extern int {SYMBOL}(); extern int {OTHER}();",
    use=f"device += {SYMBOL}() + {OTHER}();",
)
llvm = pytest.mark.needs_llvm


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(parts=tmp_path_factory.mktemp("parts"))


@pytest.fixture(scope="module")
def bound(workshop: Workshop) -> Path:
    """An extension for one torch, in a directory of its variant."""
    made = workshop.build(workshop.parts / "bound", RECIPE)
    place = workshop.parts / VARIANT / SO
    place.parent.mkdir()
    place.write_bytes(made.read_bytes())
    return place


def install(folder: Path, workshop: Workshop, *, version: str, hip: str | None, **libraries: str) -> Path:
    """Lay out a torch whose libraries offer one symbol each: name without ``.so`` -> symbol."""
    (folder / "torch" / "lib").mkdir(parents=True)
    text = f"__version__ = {version!r}\ncuda: Optional[str] = None\nhip: Optional[str] = {hip!r}\n"
    (folder / "torch" / "version.py").write_text(text)
    for name, symbol in libraries.items():
        stub = workshop.stub(f"{name}.so", symbol, "T")
        (folder / "torch" / "lib" / f"{name}.so").write_bytes(stub.read_bytes())
    return folder


def asked(path: Path, *named: Path | str) -> list[Finding]:
    found = audit_path(path, torch=torch_reader([str(one) for one in named], discard)).findings
    return [one for one in found if one.rule == "torch-symbols"]


@llvm
def test_a_torch_that_has_every_symbol_passes(tmp_path: Path, workshop: Workshop, bound: Path) -> None:
    torch = install(tmp_path, workshop, version="2.13.0", hip="7.2.1-abc", libtorch_cpu=SYMBOL, libc10=OTHER)
    assert asked(bound, torch) == asked(bound, torch / "torch") == []


@llvm
def test_a_torch_that_lacks_one_fails(tmp_path: Path, workshop: Workshop, bound: Path) -> None:
    torch = install(tmp_path, workshop, version="2.13.0+rocm7.2", hip="7.2.0", libc10=OTHER)
    (finding,) = asked(bound, torch)
    assert finding.what == f"torch 2.13.0+rocm7.2 does not have {SYMBOL}"
    assert finding.source.endswith("exports of libc10.so")


@llvm
@pytest.mark.parametrize(("version", "hip"), [("2.13.0", "7.1.0"), ("2.12.0", "7.2.0"), ("2.13.0+cpu", None)])
def test_another_torch_is_not_asked_and_that_is_said(
    tmp_path: Path, workshop: Workshop, bound: Path, version: str, hip: str | None
) -> None:
    torch = install(tmp_path, workshop, version=version, hip=hip, libtorch_cpu=SYMBOL, libc10=OTHER)
    (finding,) = asked(bound, torch)
    assert finding.severity.value == "note"
    assert finding.what.endswith(f"of the torches that were named ({version}) none is the one it is for")


@llvm
def test_of_several_the_right_one_is_asked(tmp_path: Path, workshop: Workshop, bound: Path) -> None:
    wrong = install(tmp_path / "a", workshop, version="2.14.0", hip="7.2.0")
    right = install(tmp_path / "b", workshop, version="2.13.0", hip="7.2.0", libtorch_cpu=SYMBOL, libc10=OTHER)
    assert asked(bound, wrong, right) == []


@llvm
def test_a_wheel_is_read_where_it_lies(tmp_path: Path, workshop: Workshop, bound: Path) -> None:
    torch = install(tmp_path, workshop, version="2.13.0+rocm7.2", hip="7.2.0", libtorch_cpu=SYMBOL, libc10=OTHER)
    wheel = tmp_path / "torch-2.13.0+rocm7.2-cp311-cp311-linux_x86_64.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted((torch / "torch").rglob("*.*")):
            archive.write(path, path.relative_to(torch))
    assert asked(bound, wheel) == []


@llvm
def test_a_damaged_library_is_unverifiable_and_said(tmp_path: Path, workshop: Workshop, bound: Path) -> None:
    torch = install(tmp_path, workshop, version="2.13.0", hip="7.2.0", libtorch_cpu=SYMBOL)
    (torch / "torch" / "lib" / "libtorch_cpu.so").write_bytes(b"\x7fELF and nothing else")
    (finding,) = asked(bound, torch)
    assert finding.severity.value == "note"
    assert "libtorch_cpu.so of torch cannot be read" in finding.what


def test_what_is_no_torch_is_an_input_error(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "no.whl").write_bytes(b"no archive")
    for named, error in (("empty", InputError), ("nothing", InputError), ("no.whl", MissingRequirementError)):
        with pytest.raises(error):
            open_torch(str(tmp_path / named), discard)


@pytest.mark.needs_torch
class TestRealTorch:
    """The CPU build of torch is not one for ROCm, but an extension of its own wheel asks it for hundreds of symbols."""

    @pytest.fixture
    def site(self) -> Path:
        found = find_spec("torch")
        assert found
        assert found.origin
        return Path(found.origin).parents[1]

    def test_its_own_extension_finds_every_symbol_and_a_made_up_one_is_missed(self, site: Path) -> None:
        facts = read_everything(site / "torch/lib/libtorchbind_test.so", load_policy())
        shelf = TorchShelf([open_torch(str(site), discard)])
        answer = shelf.answer(facts, Expectation())
        assert answer
        assert (answer.lacking, answer.unread, answer.libraries[:2]) == ((), None, LIBRARIES[:2])
        (binary,) = facts.binaries
        made_up = replace(binary.elf.symbols[0], name="_ZN2at7made_upEv", defined=False, version=None, weak=False)
        more = replace(binary.elf, symbols=(*binary.elf.symbols, made_up))
        changed = replace(facts, binaries=(replace(binary, elf=more),))
        answer = shelf.answer(changed, Expectation())
        assert answer
        assert [name for _, name in answer.lacking] == ["_ZN2at7made_upEv"]

    def test_the_list_of_c_functions_has_all_that_this_torch_exports_and_none_too_late(self, site: Path) -> None:
        torch = open_torch(str(site), discard)
        exports = torch.exports("libtorch_cpu.so")
        assert exports
        since = load_policy().shim.since
        functions = {name for name in exports if name.startswith(("aoti_torch_", "torch_"))}
        assert len(functions) > 300
        minor = tuple(map(int, torch.minor.split(".")))
        late = {name for name in functions if tuple(map(int, since.get(name, "99.0").split("."))) > minor}
        assert late == set()
