"""build.toml: what is read, and what is said about a mistake."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmatrix.errors import ExitCode, InputError
from rocmatrix.plan.manifest import KernelDependency, KernelSection, TorchSection, parse_manifest
from tests.unit.plan.samples import NOARCH, STABLE

WHERE = "gemm/build.toml"

FULL = """\
[general]
name = "my-gemm"
version = 3
edition = 5
license = "Apache-2.0"
backends = ["rocm", "cuda"]
upstream = "https://github.com/someone/gemm"
source = "git@github.com:someone/gemm.git"
python-depends = ["einops"]
kernel-depends = [{ repo-id = "a/b", version = 1 }, { repo-id = "c/d", revision = "main" }]
[general.hub]
repo-id = "someone/my-gemm"
branch = "next"
[torch]
src = ["torch-ext/binding.cpp"]
include = ["."]
pyext = ["py", "json"]
cxx-flags = ["-O3"]
minver = "2.10"
maxver = "2.14"
stable-abi = { rocm = "2.11", cuda = "2.10" }
[kernel.first]
backend = "rocm"
depends = ["torch"]
src = ["gemm/first.hip"]
include = ["gemm"]
cxx-flags = ["-DA=1"]
hip-flags = ["-DB=2"]
rocm-archs = ["gfx942", "gfx942", "gfx950"]
[kernel.second]
backend = "cuda"
depends = ["cutlass_3_9"]
src = ["../odd/*.cu"]
cuda-capabilities = ["9.0"]
"""


def message_of(content: str) -> str:
    with pytest.raises(InputError) as caught:
        parse_manifest(content.encode(), WHERE)
    assert caught.value.exit_code == ExitCode.INPUT
    return str(caught.value)


def complaint(content: bytes) -> str:
    """Return the message of the input error, ``""`` for a good file; every other exception is a failure."""
    try:
        parse_manifest(content, WHERE)
    except InputError as err:
        return str(err)
    return ""


def test_every_field_is_read() -> None:
    manifest = parse_manifest(FULL.encode(), WHERE)
    assert (manifest.name, manifest.module, manifest.version) == ("my-gemm", "my_gemm", 3)
    assert (manifest.license, manifest.backends) == ("Apache-2.0", ("rocm", "cuda"))
    assert (manifest.upstream, manifest.source) == (
        "https://github.com/someone/gemm",
        "git@github.com:someone/gemm.git",
    )
    assert (manifest.repo_id, manifest.branch) == ("someone/my-gemm", "next")
    assert manifest.python_depends == ("einops",)
    assert manifest.kernel_depends == (
        KernelDependency(repo_id="a/b", version=1, revision=None),
        KernelDependency(repo_id="c/d", version=None, revision="main"),
    )
    assert manifest.pyext == ("py", "json")
    assert manifest.torch == TorchSection(
        src=("torch-ext/binding.cpp",),
        include=(".",),
        pyext=("py", "json"),
        cxx_flags=("-O3",),
        stable_abi="2.11",
        minver="2.10",
        maxver="2.14",
    )
    assert manifest.rocm_kernels == (
        KernelSection(
            id="first",
            backend="rocm",
            src=("gemm/first.hip",),
            include=("gemm",),
            depends=("torch",),
            cxx_flags=("-DA=1",),
            hip_flags=("-DB=2",),
            rocm_archs=("gfx942", "gfx950"),
        ),
    )
    assert [kernel.id for kernel in manifest.kernels] == ["first", "second"]
    assert manifest.warnings == ()


def test_noarch_has_no_torch_section_and_default_suffixes() -> None:
    manifest = parse_manifest((NOARCH.replace("{name}", "gemm") + 'rocm_archs = ["gfx942"]\n').encode(), WHERE)
    assert (manifest.torch, manifest.pyext, manifest.noarch_archs) == (None, ("py", "pyi"), ("gfx942",))


def test_a_stable_abi_table_without_rocm_means_no_level_for_rocm() -> None:
    manifest = parse_manifest(FULL.replace('rocm = "2.11", ', "").encode(), WHERE)
    assert manifest.torch is not None
    assert manifest.torch.stable_abi is None


def test_a_tvm_ffi_project_is_read_and_marked() -> None:
    text = STABLE.replace("{name}", "gemm").replace('[torch]\nstable-abi = "2.10"', "[tvm-ffi]")
    manifest = parse_manifest(text.encode(), WHERE)
    assert manifest.tvm_ffi
    assert manifest.torch is None


def test_edition_4_is_read_with_a_warning() -> None:
    manifest = parse_manifest(STABLE.replace("{name}", "gemm").replace("edition = 5\n", "").encode(), WHERE)
    assert manifest.warnings == ("no general.edition, read as edition 4; add edition = 5",)


@pytest.mark.parametrize("content", [b"\xef\xbb\xbf" + FULL.encode(), FULL.replace("\n", "\r\n").encode()])
def test_byte_order_marks_and_line_ends_of_windows_are_accepted(content: bytes) -> None:
    assert parse_manifest(content, WHERE) == parse_manifest(FULL.encode(), WHERE)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("edition = 5", "edition = 6", "general.edition: edition 6 is not known\n  Write edition = 5"),
        ("edition = 5", 'edition = "5"', "general.edition: expected a whole number, found string '5'"),
        ('name = "my-gemm"', 'name = "my_gemm"', "general.name: 'my_gemm' is not a name for a kernel"),
        ('name = "my-gemm"', 'name = "my-gemm\\n"', "'my-gemm\\n' is not a name for a kernel"),
        ("version = 3", "version = -3", "general.version: '-3' is not a whole number from 0 on"),
        ("version = 3", "version = 3.0", "general.version: expected a whole number, found a number, '3.0'"),
        ("version = 3", f"version = {'9' * 30}", "is not a whole number from 0 on"),
        ("version = 3", f"version = {'9' * 5000}", "this is not TOML: a number has thousands of digits"),
        ('license = "Apache-2.0"\n', "", "general: lacks license"),
        ('"rocm", "cuda"]', '"ROCm"]', "general.backends[0]: 'ROCm' is not known\n  Did you mean rocm?"),
        ("[general.hub]", "[general.rocm]", "unknown key 'rocm' in general"),
        ("branch", "brnch", "unknown key 'brnch' in general.hub\n  Did you mean branch?"),
        ('"next"', '"../next"', "general.hub.branch: '../next' is not a branch"),
        ("https://", "ftp://", "general.upstream: 'ftp://github.com/someone/gemm' is not the URL of a git repository"),
        ("version = 1 }", 'version = 1, revision = "x" }', "kernel-depends[0]: needs either version or revision"),
        ("[torch]", "[torch-noarch]\n[torch]", "the file has [torch] and [torch-noarch]\n  Keep exactly one"),
        ('"2.11"', '"2"', "torch.stable-abi.rocm: '2' is not a version of two numbers"),
        ('rocm = "2.11"', 'hip = "2.11"', "unknown key 'hip' in torch.stable-abi"),
        (
            'minver = "2.10"',
            "minver = 2.10",
            'torch.minver: 2.10 without quotes is the number 2.1 to TOML, not a version\n  Write "2.10".',
        ),
        ('"torch-ext/binding.cpp"', '"../binding.cpp"', "torch.src[0]: '../binding.cpp' leaves the project"),
        ('"gemm/first.hip"', '"/etc/passwd"', "kernel.first.src[0]: '/etc/passwd' leaves the project"),
        ('"gemm/first.hip"', '"gemm/*.hip"', "'gemm/*.hip' is not a path that can be built"),
        ('"gemm/first.hip"', '"a b.hip"', "'a b.hip' is not a path"),
        ('"gemm/first.hip"', '"$(id).hip"', "'$(id).hip' is not a path"),
        ('"gemm/first.hip"', '"a.hip", "a.hip"', "'a.hip' is named twice"),
        ('"gemm/first.hip"', '"a.hip", "A.hip"', "'A.hip' and 'a.hip' differ in upper and lower case only"),
        ('"gemm/first.hip"', '""', "kernel.first.src[0]: is empty"),
        ('"json"', '"../json"', "torch.pyext[1]: '../json' is not a suffix"),
        ('"-DB=2"', '"-DB\\n=2"', "'-DB\\n=2' has characters that do not print"),
        ('"gfx950"', '"gfx 950"', "'gfx 950' is not a gfx arch"),
        ("[kernel.first]", '[kernel."a;b"]', "kernel.'a;b': the id of the section cannot be used"),
        ("hip-flags", "hip_flags", "unknown key 'hip_flags' in kernel.first\n  Did you mean hip-flags?"),
        ("cuda-capabilities", "rocm-archs", "unknown key 'rocm-archs' in kernel.second"),
        ('"cutlass_3_9"', '"rocwmma"', "kernel.second.depends[0]: 'rocwmma' is not known"),
        ('backend = "cuda"\n', "", "kernel.second: lacks backend"),
        ("[general]", "[general", "gemm/build.toml:1: this is not TOML"),
        ("[kernel.first]", "[kernel]\nfirst = 1\n[kernel.x]", "kernel.first: expected a mapping"),
    ],
)
def test_the_message_has_key_path_finding_and_advice(old: str, new: str, message: str) -> None:
    assert old in FULL
    assert message in message_of(FULL.replace(old, new, 1))


def test_what_to_change_in_old_editions_is_said_one_by_one() -> None:
    text = '[general]\nname = "x"\n[torch]\nuniversal = true\n[kernel.k]\nlanguage = "cuda-hip"\nsrc = []\n'
    message = message_of(text)
    assert "edition 1, which is no longer read" in message
    for change in (
        "general.backends",
        "version = 1",
        "license",
        "[torch-noarch]",
        "[kernel.k] a backend",
        "edition = 5",
    ):
        assert change in message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\xff", "not UTF-8"),
        (b"a = \0", "NUL"),
        (b"a = " + b"[" * 100_000, "build.toml:1: nested more than 16 deep|not TOML"),
        (b"a = " + b"[" * 40 + b"]" * 40, "nested more than 16 deep"),
        (b"#" * ((1 << 20) + 1), "the file is larger than 1048576 bytes"),
        (b"a = [" + b"1," * 500_000 + b"]", "more than 50000 values"),
        (b"a = 1\n" * 100_000, "more than 50000 values"),
        (b"a" + b".a" * 100_000 + b" = 1", "a key has more than 16 parts"),
        (b"[a" + b' . "a"' * 100_000 + b"]", "a key has more than 16 parts"),
        (b"[a" + b".'a'" * 100_000 + b"]", "a key has more than 16 parts"),
        (b"general = 1", "general: expected a mapping"),
        (b"[general]\nedition = 5\n", "no framework table"),
    ],
)
def test_a_file_that_is_no_manifest_at_all(content: bytes, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_manifest(content, WHERE)


@settings(max_examples=120, deadline=None)
@given(content=st.binary(max_size=200))
@example(content=b"general = {edition = 5}\ntorch = 1")
@example(content=b"[general]\nname = 1979-05-27T07:32:00Z")
def test_arbitrary_bytes_are_an_input_error_or_a_manifest(content: bytes) -> None:
    assert complaint(content).replace("\n", "").isprintable()


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_good_manifest_with_values_changed_is_an_input_error_or_a_manifest(data: st.DataObject) -> None:
    lines = FULL.splitlines()
    values = ["1", "-1", "1.5", "true", '""', '"x"', "[]", "[1]", "{}", "[{}]", "1979-05-27", "nan", '"\\u0000"', "["]
    for _ in range(data.draw(st.integers(1, 4))):
        number = data.draw(st.integers(0, len(lines) - 1))
        key = lines[number].split(" = ")[0]
        value = data.draw(st.sampled_from(values))
        lines[number] = data.draw(st.one_of(st.just(f"{key} = {value}"), st.just(""), st.text(max_size=9)))
    assert complaint("\n".join(lines).encode(errors="replace")).replace("\n", "").isprintable()
