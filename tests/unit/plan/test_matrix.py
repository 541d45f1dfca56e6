"""A good matrix.yaml, in every spelling that is allowed."""

import pytest

from rocmatrix.plan.audit_choice import AuditChoice, Waiver
from rocmatrix.plan.matrix import AbiChoice, Exclude, Include, KernelEntry, ToolchainChoice, parse_matrix
from rocmatrix.plan.matrix_model import CheckImage

FULL = """\
schema: 1
kernels:
  - path: ./kernels/gemm/
    repo-id: rocmatrix/gemm
    archs: [gfx942, gfx950]
    abi: stable
    audit:
      max-file-mb: 3
      waive:
        - {rule: needed, match: libz, variants: ["*-rocm72-*"], reason: "  known to  be there"}
        - {rule: abi3, reason: x}
  - kernels/other
torch: ["2.12", "2.13"]
rocm: ['7.1', "7.14"]
archs: [gfx942]
abi: per-torch
include:
  - {torch: "2.14", rocm: "7.14", archs: [gfx950], kernel: gemm}
exclude:
  - torch: "2.12"
    rocm: "7.14"
    reason: "slow"
toolchains:
  "7.1": llvm
  "7.14": {recipe: ./containers/mine, args: {ROCM_VERSION: "7.14.1"}}
check: {runner: [self-hosted, linux, mi300x], images: {torch2.13-rocm7.14: "some/torch@sha256:0"}}
release: {allow-toolchains: [almalinux, therock], isolation: host}
"""


def test_every_key_is_read_with_its_place() -> None:
    matrix = parse_matrix(FULL.encode(), "matrix.yaml")
    assert matrix.kernels == (
        KernelEntry(
            path="kernels/gemm",
            repo_id="rocmatrix/gemm",
            archs=("gfx942", "gfx950"),
            abi=AbiChoice.STABLE,
            audit=AuditChoice(
                waive=(
                    Waiver(
                        rule="needed",
                        reason="known to be there",
                        match="libz",
                        variants=("*-rocm72-*",),
                        where="matrix.yaml:10",
                    ),
                    Waiver(rule="abi3", reason="x", where="matrix.yaml:11"),
                ),
                max_file_size=3_000_000,
            ),
            where="matrix.yaml:3",
        ),
        KernelEntry(path="kernels/other", repo_id=None, archs=None, abi=None, where="matrix.yaml:12"),
    )
    assert (matrix.torch, matrix.rocm, matrix.archs) == (("2.12", "2.13"), ("7.1", "7.14"), ("gfx942",))
    assert matrix.abi is AbiChoice.PER_TORCH
    assert matrix.include == (
        Include(torch="2.14", rocm="7.14", archs=("gfx950",), kernel="gemm", where="matrix.yaml:18"),
    )
    assert matrix.exclude == (
        Exclude(torch="2.12", rocm="7.14", kernel=None, archs=None, reason="slow", where="matrix.yaml:20"),
    )
    assert matrix.toolchains == (
        ToolchainChoice(rocm="7.1", recipe="llvm", args={}, where="matrix.yaml:24"),
        ToolchainChoice(
            rocm="7.14", recipe="./containers/mine", args={"ROCM_VERSION": "7.14.1"}, where="matrix.yaml:25"
        ),
    )
    assert matrix.check_runner == ("self-hosted", "linux", "mi300x")
    assert matrix.check_images == (
        CheckImage(torch="2.13", rocm="7.14", reference="some/torch@sha256:0", where="matrix.yaml:26"),
    )
    assert matrix.allow_toolchains == ("almalinux", "therock")
    assert matrix.allow_host_builds


def test_what_is_optional_has_a_default() -> None:
    text = 'schema: 1\nkernels: [.]\ntorch: ["2.13"]\nrocm: ["7.2"]\narchs: [gfx942]\n'
    matrix = parse_matrix(text.encode(), "matrix.yaml")
    assert matrix.kernels[0].path == "."
    assert matrix.abi is AbiChoice.AUTO
    assert (matrix.include, matrix.exclude, matrix.toolchains) == ((), (), ())
    assert (matrix.check_runner, matrix.allow_toolchains, matrix.allow_host_builds) == ((), (), False)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + FULL.encode(),
        FULL.replace("\n", "\r\n").encode(),
        b"---\n" + FULL.encode().replace(b"schema", b"# a comment\nschema"),
    ],
)
def test_byte_order_marks_and_line_ends_of_windows_are_accepted(content: bytes) -> None:
    assert len(parse_matrix(content, "matrix.yaml").kernels) == 2


def test_an_anchor_may_be_reused() -> None:
    text = FULL.replace('"7.1": llvm', '"7.1": &mine {recipe: almalinux, args: {A: "1"}}').replace(
        '{recipe: ./containers/mine, args: {ROCM_VERSION: "7.14.1"}}', "*mine"
    )
    first, second = parse_matrix(text.encode(), "matrix.yaml").toolchains
    assert (first.recipe, first.args) == (second.recipe, second.args)
