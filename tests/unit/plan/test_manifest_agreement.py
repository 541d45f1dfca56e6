"""The official parser (``kernels._rust.Build`` of kernels 0.17.2) and ours accept and refuse the same files.

Two exceptions, both on purpose: what ours refuses only because rocmatrix would have to build from it (``STRICTER``),
and edition 3, which ours reads if the official parser accepts what ``kernel-builder update-build`` makes of it
(``upgraded``).
"""

import tomllib
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels._rust import Build

from rocmatrix.errors import InputError
from rocmatrix.plan.manifest import parse_manifest
from tests.unit.plan.samples import STABLE

V5 = """\
[general]
name = "ab"
version = 1
edition = 5
license = "MIT"
backends = ["rocm"]
"""
V4 = V5.replace("edition = 5\n", "")
NOARCH = "[torch-noarch]\n"
TORCH = "[torch]\n"
KERNEL = '[kernel.k]\nbackend = "{backend}"\ndepends = []\nsrc = []\n'

SAME = {
    "noarch": V5 + NOARCH,
    "torch": V5 + TORCH,
    "edition 4 key": V5.replace("5", "4") + NOARCH,
    "edition 6": V5.replace("5", "6") + NOARCH,
    "edition as string": V5.replace("= 5", '= "5"') + NOARCH,
    "edition as float": V5.replace("= 5", "= 5.0") + NOARCH,
    "edition true": V5.replace("= 5", "= true") + NOARCH,
    "version negative": V5.replace("version = 1", "version = -1") + NOARCH,
    "version zero": V5.replace("version = 1", "version = 0") + NOARCH,
    "version float": V5.replace("version = 1", "version = 1.0") + NOARCH,
    "license missing": V5.replace('license = "MIT"\n', "") + NOARCH,
    "license a date": V5.replace('"MIT"', "2020-01-01") + NOARCH,
    "name short": V5.replace('"ab"', '"a"') + NOARCH,
    "name underscore": V5.replace('"ab"', '"a_b"') + NOARCH,
    "name two dashes": V5.replace('"ab"', '"a--b"') + NOARCH,
    "name dash last": V5.replace('"ab"', '"ab-"') + NOARCH,
    "name newline": V5.replace('"ab"', '"ab\\n"') + NOARCH,
    "name digit first": V5.replace('"ab"', '"1ab"') + NOARCH,
    "name not ascii": V5.replace('"ab"', '"a\u00e4b"') + NOARCH,
    "backends empty": V5.replace('["rocm"]', "[]") + NOARCH,
    "backends twice": V5.replace('["rocm"]', '["rocm", "rocm"]') + NOARCH,
    "backend upper case": V5.replace('["rocm"]', '["ROCm"]') + NOARCH,
    "unknown general key": V5 + "foo = 1\n" + NOARCH,
    "unknown table": V5 + NOARCH + "[foo]\n",
    "no framework": V5,
    "two frameworks": V5 + NOARCH + TORCH,
    "empty": "",
    "python-depends free": V5 + 'python-depends = ["numpy", "numpy"]\n' + NOARCH,
    "kernel-depends": V5 + 'kernel-depends = [{repo-id = "a/b", version = 0}]\n' + NOARCH,
    "kernel-depends both": V5 + 'kernel-depends = [{repo-id = "a/b", version = 1, revision = "x"}]\n' + NOARCH,
    "kernel-depends neither": V5 + 'kernel-depends = [{repo-id = "a/b"}]\n' + NOARCH,
    "kernel-depends unknown key": V5 + 'kernel-depends = [{repo-id = "a/b", version = 1, x = 1}]\n' + NOARCH,
    "hub empty": V5 + "[general.hub]\n" + NOARCH,
    "hub unknown": V5 + '[general.hub]\nfoo = "x"\n' + NOARCH,
    "hub wrong type": V5 + "[general.hub]\nbranch = 1\n" + NOARCH,
    "general.rocm": V5 + "[general.rocm]\n" + NOARCH,
    "general.metal": V5 + "[general.metal]\n" + NOARCH,
    "general.cuda": V5 + '[general.cuda]\nminver = "12.0"\nmaxver = "13.1"\nkernel-depends = []\n' + NOARCH,
    "general.cuda minver": V5 + '[general.cuda]\nminver = "13"\n' + NOARCH,
    "general.neuron": V5 + '[general.neuron]\npython-depends = ["nki"]\n' + NOARCH,
    "general.tpu": V5 + "[general.tpu]\npython-depends = []\n" + NOARCH,
    "general.tpu kernel-depends": V5 + "[general.tpu]\nkernel-depends = []\n" + NOARCH,
    "noarch keys": V5 + NOARCH + 'pyext = ["py"]\ncuda_capabilities = ["x"]\nrocm_archs = ["gfx942"]\n',
    "noarch kebab case": V5 + NOARCH + 'rocm-archs = ["gfx942"]\n',
    "noarch minver": V5 + NOARCH + 'minver = "2.1"\n',
    "torch unknown": V5 + TORCH + "foo = 1\n",
    "torch flags as string": V5 + TORCH + 'cxx-flags = "-O3"\n',
    "stable-abi table": V5 + TORCH + 'stable-abi = {rocm = "2.11", cuda = "2.10", tpu = "2.10"}\n',
    "stable-abi table empty": V5 + TORCH + "stable-abi = {}\n",
    "stable-abi table unknown": V5 + TORCH + 'stable-abi = {hip = "2.11"}\n',
    "tvm-ffi": V5 + '[tvm-ffi]\nsrc = ["x"]\n',
    "tvm-ffi without src": V5 + "[tvm-ffi]\n",
    "tvm-ffi stable-abi": V5 + '[tvm-ffi]\nsrc = []\nstable-abi = "2.1"\n',
    "section without depends": V5 + TORCH + '[kernel.k]\nbackend = "rocm"\nsrc = []\n',
    "section without src": V5 + TORCH + '[kernel.k]\nbackend = "rocm"\ndepends = []\n',
    "section without backend": V5 + TORCH + "[kernel.k]\ndepends = []\nsrc = []\n",
    "section unknown depends": V5 + TORCH + KERNEL.format(backend="rocm").replace("[]", '["ck"]', 1),
    "section with language": V5 + TORCH + KERNEL.format(backend="rocm") + 'language = "cuda"\n',
    "section beside noarch": V5 + NOARCH + KERNEL.format(backend="rocm"),
    "section of a backend not listed": V5 + TORCH + KERNEL.format(backend="cuda"),
    "edition 4": V4 + NOARCH,
    "edition 4 tpu": V4.replace("rocm", "tpu") + NOARCH,
    "edition 4 kernel-depends": V4 + "kernel-depends = []\n" + NOARCH,
    "edition 4 general.tpu": V4 + "[general.tpu]\n" + NOARCH,
    "edition 4 cuda kernel-depends": V4 + "[general.cuda]\nkernel-depends = []\n" + NOARCH,
    "edition 4 without license": V4.replace('license = "MIT"\n', "") + NOARCH,
    "edition 4 stable-abi": V4 + TORCH + 'stable-abi = "2.11"\n',
    "edition 4 stable-abi table": V4 + TORCH + 'stable-abi = {rocm = "2.11"}\n',
    "edition 4 source": V4 + 'source = "https://a/b"\n' + NOARCH,
    "byte order mark": "\ufeff" + V5 + NOARCH,
    "crlf": (V5 + NOARCH).replace("\n", "\r\n"),
    **{
        f"{backend} section with {key}": V5 + TORCH + KERNEL.format(backend=backend) + f"{key}\n"
        for backend in ("cpu", "cuda", "metal", "rocm", "xpu", "cann", "tpu")
        for key in (
            "include = []",
            "cxx-flags = []",
            'rocm-archs = ["xx"]',
            "hip-flags = []",
            "cuda-flags = []",
            'cuda-minver = "12.8"',
            'cuda-minver = "12"',
            "sycl-flags = []",
        )
    },
    **{
        f"upstream {url}": V5 + f'upstream = "{url}"\n' + NOARCH
        for url in (
            "https://github.com/a/b",
            "http://x",
            "git://x/y",
            "git+ssh://a@b/c",
            "ftp://x/y",
            "file:///x",
            "git@github.com:a/b.git",
            "github.com:a/b",
            "a@b:",
            "foo",
            "https://",
            "https://a b/c",
            "/a/b",
        )
    },
    **{
        f"stable-abi {version}": V5 + TORCH + f"stable-abi = {version}\n"
        for version in ('"2.10"', '"2"', '"2.10.0"', "2.10", '""', '"-2.10"', '"2..10"', '"2.10."', '"2_0.1"', "true")
    },
}

STRICTER = {
    "bounds that leave no version": V5 + TORCH + 'minver = "2.14"\nmaxver = "2.11"\n',
    "name too long for a file": V5.replace('"ab"', f'"{"a" * 101}"') + NOARCH,
    "empty license": V5.replace('"MIT"', '""') + NOARCH,
    "repo-id that the Hub cannot have": V5 + '[general.hub]\nrepo-id = "x"\n' + NOARCH,
    "branch that no branch can be": V5 + '[general.hub]\nbranch = "../x"\n' + NOARCH,
    "major version without bound": V5.replace("version = 1", "version = 10000") + NOARCH,
    "version without bound": V5 + TORCH + 'maxver = "2.99999"\n',
    "source twice in two spellings": V5 + TORCH + 'src = ["a/b", "./a//b"]\n',
    "sources that differ in case": V5 + TORCH + 'src = ["a", "A"]\n',
    "source of a Windows path": V5 + TORCH + 'src = ["a\\\\b"]\n',
    "flag that does not print": V5 + TORCH + 'cxx-flags = ["-D\\n"]\n',
    "harmful flag with an expression": V5 + TORCH + 'cxx-flags = ["-D${{ x }}"]\n',
    "harmful license of a workflow's command": V5.replace('"MIT"', '"::error::z"') + NOARCH,
    "harmful license of an old workflow command": V5.replace('"MIT"', '"MIT ##[error]z"') + NOARCH,
    "harmful license of escape characters": V5.replace('"MIT"', '"\\u001b[31m"') + NOARCH,
    "foreign section named after an expression": V5
    + TORCH
    + KERNEL.format(backend="cpu").replace(".k]", '."${{ x }}"]'),
    "harmful dependency with an expression": V5
    + 'kernel-depends = [{repo-id = "a/b", revision = "${{ x }}"}]\n'
    + NOARCH,
    "arch that could be none": V5 + TORCH + KERNEL.format(backend="rocm") + 'rocm-archs = ["gfx 942"]\n',
    "version with a leading zero": V5 + TORCH + 'minver = "02.010"\n',
    "version with spaces": V5 + TORCH + 'minver = " 2.10"\n',
    "source outside": V5 + TORCH + 'src = ["../x"]\n',
    "source absolute": V5 + TORCH + 'src = ["/x"]\n',
    "source pattern": V5 + TORCH + 'src = ["*.cpp"]\n',
    "source twice": V5 + TORCH + 'src = ["a", "a"]\n',
    "suffix that is a path": V5 + NOARCH + 'pyext = ["a/b"]\n',
    "section id for a shell": V5 + TORCH + KERNEL.format(backend="rocm").replace("[kernel.k]", '[kernel."a b;c"]'),
}

V3 = V4.replace("version = 1\n", "")
EDITION_3 = {
    "noarch by default": V3,
    "without framework": V4,
    "noarch": V3 + NOARCH,
    "torch": V3 + TORCH,
    "torch and sections": V3 + TORCH + KERNEL.format(backend="rocm"),
    "tvm-ffi": V3 + "[tvm-ffi]\nsrc = []\n",
    "tables of backends": V3 + "[general.cuda]\npython-depends = []\n[general.xpu]\n",
    "unknown key": V3 + "foo = 1\n",
    "unknown backend": V3.replace("rocm", "mps"),
    "unknown dependency": V3 + TORCH + KERNEL.format(backend="rocm").replace("[]", '["ck"]', 1),
    "bad name": V3.replace('"ab"', '"a_b"'),
    "bad version": V3 + "version = -1\n",
}


def upgraded(text: str) -> str:
    """Return a file of edition 3 as ``kernel-builder update-build`` rewrites it (kernels-data, ``config/v3.rs``)."""
    file = tomllib.loads(text)
    keys = "edition = 5\n" if "version" in file["general"] else "edition = 5\nversion = 1\n"
    frame = "" if file.keys() & {"torch", "torch-noarch", "tvm-ffi"} else "[torch-noarch]\n"
    return text.replace("[general]\n", f"[general]\n{keys}", 1).rstrip("\n") + f"\n{frame}"


def official_accepts(text: str, folder: Path) -> bool:
    (folder / "build.toml").write_bytes(text.encode())
    try:
        Build.open(folder)
    except ValueError:
        return False
    return True


def ours_accepts(text: str) -> bool:
    try:
        parse_manifest(text.encode(), "build.toml")
    except InputError:
        return False
    return True


@pytest.mark.parametrize("name", SAME)
def test_both_parsers_say_the_same(name: str, tmp_path: Path) -> None:
    assert ours_accepts(SAME[name]) == official_accepts(SAME[name], tmp_path)


def test_the_cases_are_of_both_kinds(tmp_path: Path) -> None:
    accepted = sum(official_accepts(text, tmp_path) for text in SAME.values())
    assert 40 < accepted < len(SAME) - 40


@pytest.mark.parametrize("name", STRICTER)
def test_where_ours_is_stricter_the_message_says_so(name: str, tmp_path: Path) -> None:
    assert official_accepts(STRICTER[name], tmp_path)
    with pytest.raises(InputError) as caught:
        parse_manifest(STRICTER[name].encode(), "build.toml")
    assert caught.value.fix
    assert caught.value.fix.endswith("kernel-builder accepts it; rocmatrix, which has to act on it, does not.")


@pytest.mark.parametrize("name", EDITION_3)
def test_edition_3_is_read_if_the_official_parser_accepts_its_upgrade(name: str, tmp_path: Path) -> None:
    assert not official_accepts(EDITION_3[name], tmp_path)
    assert ours_accepts(EDITION_3[name]) == official_accepts(upgraded(EDITION_3[name]), tmp_path)


def test_edition_3_means_what_its_upgrade_means() -> None:
    for text in (V3, V3 + TORCH + KERNEL.format(backend="rocm")):
        old, new = (parse_manifest(form.encode(), "build.toml") for form in (text, upgraded(text)))
        assert replace(old, warnings=()) == new
        assert old.version == 1
        assert "edition 3" in old.warnings[0]
        assert "add general.version = 1" in old.warnings[0]


def test_edition_3_without_a_licence_is_refused_with_what_to_change() -> None:
    with pytest.raises(InputError) as caught:
        parse_manifest(V3.replace('license = "MIT"\n', "").encode(), "build.toml")
    assert "edition 3, which is read only if it names a licence" in caught.value.what
    assert "add general.license" in str(caught.value.fix)


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_ours_never_accepts_what_the_official_parser_refuses(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    lines = STABLE.replace("{name}", "gemm").splitlines()
    for _ in range(data.draw(st.integers(1, 3))):
        number = data.draw(st.integers(0, len(lines) - 1))
        key = lines[number].split(" = ")[0]
        value = data.draw(st.sampled_from(["1", "-1", "1.5", "true", '""', '"x"', '["x"]', "[1]", "{}", "[{}]"]))
        lines[number] = data.draw(st.sampled_from(["", f"{key} = {value}", f"x{lines[number]}"]))
    text = "\n".join(lines)
    if ours_accepts(text):
        folder = tmp_path_factory.mktemp("manifest")
        assert official_accepts(text, folder) or official_accepts(upgraded(text), folder)
