"""What a variant needs is known, and what nobody has is said, before anything of it runs."""

from pathlib import Path

import pytest

from rocmatrix.emulator.host.compiler import RuntimeCompiler
from rocmatrix.emulator.host.needs import Needs, exports, read_needs, refused_calls
from rocmatrix.emulator.reports import UnsupportedError
from rocmatrix.errors import InputError

PROVIDED = frozenset({"hipLaunchKernel", "aoti_torch_get_dim"})


def needs(*symbols: str) -> Needs:
    return Needs(hip="libamdhip64.so.7", torch=(), symbols=symbols)


def test_functions_of_torch_that_nobody_implements_refuse_when_they_are_called() -> None:
    wanted = needs("aoti_torch_get_dim", "aoti_torch_cpu_abs", "torch_new_thing", "PyModule_Create2", "memcpy")
    assert refused_calls(wanted, PROVIDED) == ("aoti_torch_cpu_abs", "torch_new_thing")


def test_missing_calls_of_hip_are_listed_at_once() -> None:
    with pytest.raises(UnsupportedError, match="hipGraphLaunch, hipIpcOpenMemHandle"):
        refused_calls(needs("hipLaunchKernel", "hipIpcOpenMemHandle", "hipGraphLaunch"), PROVIDED)


@pytest.mark.parametrize(
    "symbol", ["_ZN2at6Tensor3addE", "_ZN3c105ErrorC1E", "_ZNK3c1010TensorImpl5sizesEv", "_ZTVN5torch7LibraryE"]
)
def test_extensions_beyond_the_stable_abi_are_refused(symbol: str) -> None:
    with pytest.raises(UnsupportedError, match="beyond its stable ABI"):
        refused_calls(needs(symbol), PROVIDED)


def test_a_file_that_is_no_library_is_bad_input(tmp_path: Path) -> None:
    (tmp_path / "x.so").write_bytes(b"nothing")
    with pytest.raises(InputError, match="not an ELF file"):
        read_needs(tmp_path / "x.so")


@pytest.mark.needs_llvm
def test_the_needs_of_a_library_are_read_from_it(compiler: RuntimeCompiler) -> None:
    made = compiler.refusals("libtorch.so", ["aoti_torch_cpu_abs"])
    assert exports(made) == {"aoti_torch_cpu_abs"}
    assert read_needs(made) == Needs(hip=None, torch=(), symbols=("rocmatrix_refuse",))


@pytest.mark.needs_llvm
def test_every_function_of_the_stable_headers_is_there_or_refuses(compiler: RuntimeCompiler) -> None:
    """The list is the toolchain's: what an extension can be linked against."""
    import tomllib  # noqa: PLC0415 - for this test only

    from rocmatrix.toolchain.llvm.facts import DATA  # noqa: PLC0415

    libraries = tomllib.loads((DATA / "torch.toml").read_text())["libraries"]
    symbols = [name for library in libraries.values() for name in library["symbols"]]
    provided = exports(compiler.torch())
    refused = refused_calls(Needs(hip=None, torch=(), symbols=tuple(symbols)), provided)
    assert set(symbols) == set(refused) | (set(symbols) & provided)
    assert exports(compiler.refusals("libtorch.so", refused)) == set(refused)


@pytest.mark.needs_llvm
def test_every_call_that_a_kernel_can_be_linked_with_is_emulated(hip_stand_in: Path) -> None:
    import tomllib  # noqa: PLC0415 - for this test only

    from rocmatrix.toolchain.llvm.facts import DATA  # noqa: PLC0415

    symbols = tomllib.loads((DATA / "hip.toml").read_text())["libraries"]["libamdhip64.so"]["symbols"]
    assert set(symbols) <= exports(hip_stand_in)
