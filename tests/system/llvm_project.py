"""A small kernel project that needs no torch, and the toolchain ``llvm`` run on it step by step."""

import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection
from elftools.elf.sections import SymbolTableSection

from rocmatrix.binary.facts import BundleEntry
from rocmatrix.binary.offload import unbundle
from rocmatrix.engine.host import HostEngine
from rocmatrix.engine.interface import Command
from rocmatrix.machine.cache import cache_folder
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import ToolchainId, ToolchainSpec, Unit
from rocmatrix.toolchain.interface import BuildRequest, Step
from rocmatrix.toolchain.llvm.toolchain import LlvmToolchain
from tests.unit.toolchain.llvm import samples

EXTENSION = "_add_rocm_0a1b2c3d"
STEP_SECONDS = 1200.0
"""The first run on a machine builds the C++ library."""

KERNEL = """\
#include <hip/hip_runtime.h>

#include "add.h"

__global__ void __launch_bounds__(256) add(const float* a, float* b, int n) {
  __shared__ float tile[256];
  const int i = static_cast<int>(blockIdx.x * 256 + threadIdx.x);
  tile[threadIdx.x] = i < n ? a[i] : 0.0f;
  __syncthreads();
  if (i < n) b[i] = tile[255 - threadIdx.x] + STEP + static_cast<float>(warpSize);
}

__global__ void fill(float* b, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) b[i] = static_cast<float>(gridDim.x);
}

int launch_add(const float* a, float* b, int n, hipStream_t stream) {
  add<<<dim3((n + 255) / 256), 256, 0, stream>>>(a, b, n);
  fill<<<dim3((n + 63) / 64), 64, 0, stream>>>(b, n);
  return hipGetLastError();
}
"""
HEADER = """\
#pragma once
#include <hip/hip_runtime_api.h>
#define STEP 1.0f
int launch_add(const float* a, float* b, int n, hipStream_t stream);
"""
BINDING = """\
#include <future>
#include <sstream>
#include <stdexcept>

#include "add.h"

#define JOIN_TOKENS(A, B) A##B
#define JOIN(A, B) JOIN_TOKENS(A, B)

extern "C" int aoti_torch_get_device_index(void*, int*);

static void check(int error) {
  std::ostringstream text;
  text << "HIP error " << error << " in " << __FILE__;
  if (error) throw std::runtime_error(text.str());
}

extern "C" __attribute__((visibility("default"))) void* JOIN(PyInit_, TORCH_EXTENSION_NAME)() {
  int device = aoti_torch_get_device_index(nullptr, nullptr);
  std::async(std::launch::deferred, [&] { check(launch_add(nullptr, nullptr, device, nullptr)); }).get();
  return nullptr;
}
"""

MANIFEST = replace(
    samples.MANIFEST,
    torch=replace(samples.TORCH, src=("torch-ext/binding.cpp",), include=("first", "add")),
    kernels=(replace(samples.KERNEL, src=("kernels/add.hip", "add/add.h"), include=("first", "add")),),
)
UNIT = samples.UNIT


class StepError(AssertionError):
    """A step failed; the message is what it printed."""


def make_toolchain(cache: Path | None = None) -> LlvmToolchain:
    """Return the toolchain, with the cache that this machine's other builds use unless another is given."""
    spec = ToolchainSpec(id=ToolchainId("llvm-rocm7.2"), recipe="llvm", rocm="7.2", args={}, chosen_by="test")
    return LlvmToolchain(spec, engine=HostEngine(), cache=cache or cache_folder())


def run_steps(steps: tuple[Step, ...], cwd: Path) -> None:
    """Run steps in their order, as ninja would: folders of outputs are made before a command runs.

    Raises:
        StepError: a command failed.
    """
    engine = HostEngine()
    for step in steps:
        absent = [path for path in step.inputs if not path.is_file()]
        assert not absent, f"{step.label}: nobody made {absent}"
        for path in step.outputs:
            path.parent.mkdir(parents=True, exist_ok=True)
        done = engine.run(Command(argv=step.argv, cwd=cwd, timeout=STEP_SECONDS, environment=step.environment))
        if done.returncode != 0:
            raise StepError(f"{step.label} ended with {done.returncode}:\n{done.output}")


@dataclass(frozen=True, kw_only=True)
class Project:
    """A small project below a folder of its own.

    Attributes:
        files: what differs from the plain project; path -> text.
    """

    folder: Path
    unit: Unit = UNIT
    manifest: Manifest = MANIFEST
    files: dict[str, str] = field(default_factory=dict)

    @property
    def request(self) -> BuildRequest:
        """The request to build it."""
        return BuildRequest(
            unit=self.unit,
            manifest=self.manifest,
            project=self.folder / "project",
            generated=self.folder / "generated",
            torch_include=None,
            work=self.folder / "work",
            device_cache=self.folder / "device",
            extension=EXTENSION,
            output=self.folder / "out" / f"{EXTENSION}.abi3.so",
            cxx_standard="c++20",
        )

    def write(self) -> None:
        """Write the sources."""
        plain = {"kernels/add.hip": KERNEL, "add/add.h": HEADER, "torch-ext/binding.cpp": BINDING}
        for name, text in {**plain, **self.files}.items():
            path = self.request.project / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def build(self, toolchain: LlvmToolchain) -> Path:
        """Build it and return the shared object."""
        self.write()
        run_steps(toolchain.steps(self.request), self.folder)
        return self.request.output

    def with_files(self, files: dict[str, str]) -> "Project":
        """Return the project with other or further files; path -> text."""
        return replace(self, files={**self.files, **files})


@dataclass(frozen=True, kw_only=True)
class Binary:
    """What an ELF file says of itself."""

    needed: tuple[str, ...]
    paths: tuple[str, ...]
    exports: frozenset[str]
    versions: dict[str, frozenset[str]]
    bindings: frozenset[str]
    sections: dict[str, bytes]

    def bundle(self) -> tuple[BundleEntry, ...]:
        """Return the entries for GPUs of the offload bundle inside."""
        return unbundle(self.sections[".hip_fatbin"])


def read_binary(path: Path) -> Binary:
    """Read an ELF file with pyelftools."""
    with path.open("rb") as stream:
        elf = ELFFile(stream)
        dynamic = elf.get_section_by_name(".dynamic")
        symbols = elf.get_section_by_name(".dynsym")
        needs = elf.get_section_by_name(".gnu.version_r")
        assert isinstance(dynamic, DynamicSection)
        assert isinstance(symbols, SymbolTableSection)
        assert isinstance(needs, GNUVerNeedSection)
        tags = list(dynamic.iter_tags())
        return Binary(
            needed=tuple(str(getattr(tag, "needed")) for tag in tags if tag.entry.d_tag == "DT_NEEDED"),  # noqa: B009 - set at run time
            paths=tuple(tag.entry.d_tag for tag in tags if tag.entry.d_tag in {"DT_RPATH", "DT_RUNPATH"}),
            exports=frozenset(
                one.name for one in symbols.iter_symbols() if one.name and one["st_shndx"] != "SHN_UNDEF"
            ),
            versions={
                str(library.name): frozenset(one.name for one in versions)
                for library, versions in needs.iter_versions()
            },
            bindings=frozenset(one["st_info"]["bind"] for one in symbols.iter_symbols()),
            sections={
                section.name: section.data() for section in elf.iter_sections() if section["sh_type"] != "SHT_NOBITS"
            },
        )


def ask_zig(toolchain: LlvmToolchain, *arguments: str, cwd: Path) -> str:
    """Return what the compiler prints, both streams together."""
    program = toolchain._compiler.program
    return subprocess.run(
        [str(program), *arguments], cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True
    ).stdout
