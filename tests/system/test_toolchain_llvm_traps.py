"""Traps on the way to a working extension, each with a control that shows that the check can fail."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from rocmatrix.engine.host import HostEngine
from rocmatrix.errors import MissingRequirementError
from rocmatrix.records import Gate
from rocmatrix.toolchain.llvm import flags
from rocmatrix.toolchain.llvm.facts import DATA
from rocmatrix.toolchain.llvm.flags import LinkInputs
from rocmatrix.toolchain.llvm.gates import load_gate, runtime_gate
from rocmatrix.toolchain.llvm.kit import Kit
from rocmatrix.toolchain.llvm.probe import Probe, judge, message_gate, run_probe
from rocmatrix.toolchain.llvm.tasks import stub
from rocmatrix.toolchain.llvm.toolchain import LlvmToolchain, unstripped
from tests.system.llvm_project import (
    BINDING,
    EXTENSION,
    HEADER,
    KERNEL,
    UNIT,
    Project,
    StepError,
    make_toolchain,
    read_binary,
    run_steps,
)

pytestmark = pytest.mark.needs_llvm


@pytest.fixture(scope="module")
def toolchain() -> LlvmToolchain:
    return make_toolchain()


@pytest.fixture(scope="module")
def kit(toolchain: LlvmToolchain, tmp_path_factory: pytest.TempPathFactory) -> Kit:
    run_steps(toolchain._kit.steps(), tmp_path_factory.mktemp("kit"))
    return toolchain._kit


@pytest.fixture(scope="module")
def built(toolchain: LlvmToolchain, tmp_path_factory: pytest.TempPathFactory) -> Project:
    project = Project(folder=tmp_path_factory.mktemp("plain"))
    project.build(toolchain)
    return project


def objects(project: Project) -> tuple[Path, ...]:
    return tuple(sorted(project.request.work.glob("*.o")))


def make_stub(kit: Kit, output: Path, data: Path, library: str) -> Path:
    zig = str(kit.compiler.program)
    tools = (zig, "clang", "-target", "x86_64-linux-gnu", "--", zig, "ld.lld", "-shared")
    assert stub.main([str(output), str(data), library, *tools]) == 0
    return output


def link(kit: Kit, output: Path, inputs: LinkInputs, *, strip: bool = True) -> Path:
    subprocess.run(flags.link_command(kit.compiler.program, output, inputs, strip=strip), check=True)
    return output


# 1 and 10: an exception must reach its catcher in another library with its message whole


def test_forced_errors_arrive_word_for_word(kit: Kit, tmp_path: Path) -> None:
    gate = judge_fresh(kit, tmp_path, with_shim=True)
    assert gate.passed, gate.detail
    assert message_gate(HostEngine(), kit).passed


def test_without_the_shim_forced_errors_do_not_arrive(kit: Kit, tmp_path: Path) -> None:
    gate = judge_fresh(kit, tmp_path, with_shim=False)
    assert not gate.passed


def judge_fresh(kit: Kit, folder: Path, *, with_shim: bool) -> Gate:
    said = run_probe(HostEngine(), Probe(kit=kit, folder=folder, with_shim=with_shim))
    return judge(json.loads(said) if said.startswith("[") else said)


# 2: tools that read .symtab see nothing in a stripped file


def test_a_stripped_file_does_not_pass_for_lack_of_symbols(built: Project) -> None:
    gate = runtime_gate(built.request.output)
    assert not gate.passed
    assert "no symbol table" in gate.detail
    assert runtime_gate(unstripped(built.request)).passed


# 3: a header that appears in front of another one must be seen


def test_a_new_header_that_shadows_another_changes_the_result(toolchain: LlvmToolchain, tmp_path: Path) -> None:
    plain = Project(folder=tmp_path)
    before = plain.build(toolchain).read_bytes()
    shadowing = plain.with_files({"first/add.h": HEADER.replace("1.0f", "2.0f")})
    after = shadowing.build(toolchain).read_bytes()
    assert after != before
    fresh = replace(shadowing, folder=tmp_path / "fresh")
    assert fresh.build(toolchain).read_bytes() == after


def test_a_shadowing_header_gives_device_code_another_name(toolchain: LlvmToolchain, tmp_path: Path) -> None:
    project = Project(folder=tmp_path)
    project.write()

    def device() -> Path:
        (step,) = [step for step in toolchain.steps(project.request) if step.label.startswith("device")]
        return step.outputs[0]

    before = device()
    (project.request.project / "first").mkdir()
    (project.request.project / "first" / "add.h").write_text(HEADER)
    assert device() != before


# 4: exception handling inside the extension shadows the machine's in silence


def test_leaving_the_shim_out_is_refused_with_what_got_in(built: Project, kit: Kit, tmp_path: Path) -> None:
    kept = (kit.hip("libamdhip64.so.7"), *kit.torch())
    without = LinkInputs(objects=objects(built), kept=kept, libraries=kit.runtime())
    gate = runtime_gate(link(kit, tmp_path / "without.so", without, strip=False))
    assert not gate.passed
    assert "__cxa_throw" in gate.detail
    assert "__cxa_begin_catch" in gate.detail


def test_leaving_the_stubs_out_is_refused_too(built: Project, kit: Kit, tmp_path: Path) -> None:
    """zig's own way to link: its exception handling is all inside."""
    (archive,) = [path for path in kit.runtime() if path.name == "libc++abi.a"]
    libraries = (*(path for path in kit.runtime() if path not in kit.cxx()), archive, kit.cxx()[1])
    kept = (kit.hip("libamdhip64.so.7"), *kit.torch())
    inputs = LinkInputs(objects=objects(built), kept=kept, libraries=libraries)
    gate = runtime_gate(link(kit, tmp_path / "without.so", inputs, strip=False))
    assert not gate.passed
    assert "__cxa_throw" in gate.detail


# 5: a weak symbol of torch's GPU library must be in scope

WEAK = """
extern "C" __attribute__((weak)) int aoti_torch_get_current_cuda_stream(int, void**);
extern "C" __attribute__((visibility("default"))) void* PyInit__add_rocm_0a1b2c3d() {
  return reinterpret_cast<void*>(&aoti_torch_get_current_cuda_stream);
}
"""


def test_a_weak_symbol_of_torchs_gpu_library_is_found_through_libtorch(
    toolchain: LlvmToolchain, kit: Kit, tmp_path: Path
) -> None:
    """libtorch.so is loaded although nothing refers to it; here its stub stands for the GPU library behind it."""
    library = Project(folder=tmp_path, files={"torch-ext/binding.cpp": WEAK}).build(toolchain)
    assert entry_point(library, kit.runtime_folder) != 0


def test_without_libtorch_the_weak_symbol_is_null(toolchain: LlvmToolchain, kit: Kit, tmp_path: Path) -> None:
    project = Project(folder=tmp_path, files={"torch-ext/binding.cpp": WEAK})
    project.build(toolchain)
    kept = (kit.hip("libamdhip64.so.7"),)
    inputs = LinkInputs(objects=(*objects(project), kit.shim), kept=kept, libraries=kit.runtime())
    assert entry_point(link(kit, tmp_path / "without.so", inputs), kit.runtime_folder) == 0


def entry_point(library: Path, stubs: Path) -> int:
    """Return what the entry point returns, called in a process of its own."""
    code = (
        f"import ctypes; f = ctypes.CDLL({str(library)!r}).PyInit_{EXTENSION}; f.restype = ctypes.c_size_t; print(f())"
    )
    environment = {**os.environ, "LD_LIBRARY_PATH": str(stubs)}
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], env=environment, capture_output=True, check=True)
    return int(done.stdout)


# A wrong symbol version shows only when the library is loaded


def test_a_symbol_version_that_the_machine_does_not_have_fails_at_load(
    built: Project, kit: Kit, tmp_path: Path
) -> None:
    data = tmp_path / "wrong.toml"
    data.write_text((DATA / "cxx_abi.toml").read_text(encoding="utf-8").replace('"CXXABI_1.3" =', '"CXXABI_9.9" ='))
    wrong = make_stub(kit, tmp_path / "libstdc++.so.6", data, "libstdc++.so.6")
    libraries = tuple(wrong if path.name == wrong.name else path for path in kit.runtime())
    kept = (kit.hip("libamdhip64.so.7"), *kit.torch())
    inputs = LinkInputs(objects=(*objects(built), kit.shim), kept=kept, libraries=libraries)
    library = link(kit, tmp_path / "wrong.so", inputs)
    gate = load_gate(HostEngine(), library, EXTENSION, kit.runtime_folder)
    assert not gate.passed
    assert "CXXABI_9.9" in gate.detail


def test_another_entry_point_than_pythons_fails_at_load(built: Project, kit: Kit) -> None:
    gate = load_gate(HostEngine(), built.request.output, "_other", kit.runtime_folder)
    assert not gate.passed
    assert "PyInit__other" in gate.detail


def test_a_runtime_that_is_not_there_fails_at_load(built: Project, tmp_path: Path) -> None:
    gate = load_gate(HostEngine(), built.request.output, EXTENSION, tmp_path)
    assert not gate.passed
    assert "libamdhip64.so.7: cannot open shared object file" in gate.detail


# 8: linked without versions, it loads with a HIP runtime that has them


def test_it_loads_with_a_hip_runtime_that_versions_its_symbols(built: Project, kit: Kit, tmp_path: Path) -> None:
    text = (DATA / "hip.toml").read_text(encoding="utf-8")
    data = tmp_path / "hip.toml"
    data.write_text(
        text.replace("symbols = [", '[libraries."libamdhip64.so".functions]\n"hip_4.2" = ['), encoding="utf-8"
    )
    versioned = make_stub(kit, tmp_path / "stubs" / "libamdhip64.so.7", data, "libamdhip64.so")
    assert b"hip_4.2" in versioned.read_bytes()
    for path in kit.torch():
        (versioned.parent / path.name).symlink_to(path)
    gate = load_gate(HostEngine(), built.request.output, EXTENSION, versioned.parent)
    assert gate.passed, gate.detail


# Mistakes of an author


WRONG = "int rows = nothing_by_this_name;\n"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("kernels/add.hip", KERNEL + WRONG),
        ("kernels/add.hip", KERNEL + f"#ifndef __HIP_DEVICE_COMPILE__\n{WRONG}#endif\n"),
        ("torch-ext/binding.cpp", BINDING + WRONG),
        ("add/add.h", HEADER + WRONG),
    ],
    ids=["device", "host", "binding", "header"],
)
def test_a_compile_error_is_told_with_file_and_line(
    path: str, text: str, toolchain: LlvmToolchain, tmp_path: Path
) -> None:
    line = text.splitlines().index(WRONG.strip()) + 1
    with pytest.raises(StepError) as raised:
        Project(folder=tmp_path, files={path: text}).build(toolchain)
    said = f"/project/{path}:{line}:12: error: use of undeclared identifier 'nothing_by_this_name'"
    assert said in str(raised.value)


def test_a_function_that_nobody_has_is_named_when_it_is_linked(toolchain: LlvmToolchain, tmp_path: Path) -> None:
    text = BINDING.replace("aoti_torch_get_device_index", "aoti_torch_of_tomorrow")
    with pytest.raises(StepError, match="undefined symbol: aoti_torch_of_tomorrow"):
        Project(folder=tmp_path, files={"torch-ext/binding.cpp": text}).build(toolchain)


def test_a_call_that_is_not_declared_is_an_error_at_its_line(toolchain: LlvmToolchain, tmp_path: Path) -> None:
    text = KERNEL.replace("return hipGetLastError();", "return hipGraphLaunch(0, stream);")
    with pytest.raises(StepError, match=r"add\.hip:\d+:10: error: use of undeclared identifier 'hipGraphLaunch'"):
        Project(folder=tmp_path, files={"kernels/add.hip": text}).build(toolchain)


def test_a_header_of_all_of_rocm_is_refused_before_anything_is_run(toolchain: LlvmToolchain, tmp_path: Path) -> None:
    project = Project(folder=tmp_path, files={"kernels/add.hip": "#include <hip/hip_bf16.h>\n"})
    project.write()
    with pytest.raises(MissingRequirementError, match=r"kernels/add\.hip:1: llvm has no <hip/hip_bf16\.h>"):
        toolchain.steps(project.request)


def test_an_arch_that_clang_does_not_know_is_refused(toolchain: LlvmToolchain, built: Project) -> None:
    said = toolchain.objection(replace(UNIT, archs=("gfx942", "gfx9999")), built.manifest)
    assert said is not None
    assert "does not know gfx9999" in said
    assert toolchain.objection(UNIT, built.manifest) is None


def test_two_hip_sources_and_standard_headers_in_device_code(toolchain: LlvmToolchain, tmp_path: Path) -> None:
    project = Project(folder=tmp_path)
    section = replace(project.manifest.kernels[0], src=("kernels/add.hip", "kernels/more.hip"))
    more = (
        "#include <cstdint>\n#include <cmath>\n#include <string>\n#include <hip/hip_runtime.h>\n"
        "__global__ void more(uint8_t* a) { a[threadIdx.x] = 1; }\nvoid launch_more() { more<<<1, 64>>>(nullptr); }\n"
    )
    project = replace(project, manifest=replace(project.manifest, kernels=(section,)), files={"kernels/more.hip": more})
    binary = read_binary(project.build(toolchain))
    assert binary.sections[".hip_fatbin"].count(b"__CLANG_OFFLOAD_BUNDLE__") == 2
