"""Readers of bytes and sources: what is found, and what is not mistaken for it."""

from __future__ import annotations

import base64
import hashlib
import json
import string
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rocmatrix.audit import contents as contents_module
from rocmatrix.audit.content_facts import Contents, Fp8Flavour, PythonFile, SignatureState
from rocmatrix.audit.contents import read_contents
from rocmatrix.audit.facts import Expectation, VariantFacts
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.python_source import read_python
from rocmatrix.audit.reading import read_everything
from rocmatrix.audit.rules import judge
from rocmatrix.audit.signature import read_signature

LETTERS = (string.ascii_letters + string.digits)[::-1]


def token(prefix: str, length: int) -> bytes:
    """Return something of the form of a credential, put together here so that no scanner finds it in this file."""
    return (prefix + (LETTERS * 3)[:length]).encode()


SECRETS = {
    "Hugging Face token": token("hf_", 34),
    "GitHub token": token("ghp_", 36),
    "GitHub fine-grained token": b"github_pat_" + LETTERS[:22].encode() + b"_" + LETTERS[:59].encode(),
    "GitLab token": token("glpat-", 20),
    "AWS access key": b"AKIA" + b"QWERTYUIOPASDFGH",
    "PyPI token": token("pypi-AgEIcHlwaS5vcmc", 60),
    "npm token": token("npm_", 36),
    "Slack token": b"xoxb-" + b"123456789012-123456789012-" + LETTERS[:24].encode(),
    "private key": b"-----BEGIN RSA PRIVATE KEY-----\n" + LETTERS.encode(),
}


def search(tmp_path: Path, content: bytes, name: str = "x.so") -> Contents:
    (tmp_path / name).write_bytes(content)
    policy = load_policy()
    return read_contents(tmp_path / name, VariantFacts(folder=False), policy.bytes, python=policy.python)


@pytest.mark.parametrize("kind", SECRETS)
@pytest.mark.parametrize("around", [b"\0", b'"', b"=", b"\n"])
def test_a_credential_in_the_bytes_is_found_and_not_repeated(tmp_path: Path, kind: str, around: bytes) -> None:
    content = b"\x7fELF" + bytes(1000) + around + SECRETS[kind] + around
    (secret,) = search(tmp_path, content).secrets
    assert (secret.kind, secret.offset) == (kind, 1005)
    assert len(secret.shown) < 20
    assert secret.shown.encode() in SECRETS[kind]


def test_every_format_of_the_policy_has_a_sample() -> None:
    samples = {*SECRETS, "Hugging Face organization token"}
    assert {form.name for form in load_policy().bytes.secrets} == samples


@pytest.mark.parametrize(
    "content",
    [
        b"hf_" + b"x" * 34,
        b"hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        b"ghp_" + b"a" * 36,
        b"shf_" + LETTERS[:34].encode(),
        b"AKIAIOSFODNN7EXAMPLE",
        b"-----BEGIN PRIVATE KEY-----\0-----END PRIVATE KEY-----\0",
        b"-----BEGIN CERTIFICATE-----\nMIIB",
        b"hf_hub_download_with_a_very_long_function_name_in_it",
        LETTERS.encode() * 100,
    ],
)
def test_what_only_looks_like_one_is_none(tmp_path: Path, content: bytes) -> None:
    assert search(tmp_path, content).secrets == ()


@pytest.mark.parametrize(
    "path",
    [
        "/home/ann/gemm/k.hip",
        "/root/k.hip",
        "/tmp/tmpab12/k.hip",  # noqa: S108 - a text
        "/build/k.hip",
        "/__w/gemm/gemm/k.hip",
        "/nix/store/k",
    ],
)
def test_a_path_of_a_build_machine_is_found(tmp_path: Path, path: str) -> None:
    (found,) = search(tmp_path, b"\0" + path.encode() + b"\0" + path.encode() + b"\0").build_paths
    assert (found.text, found.offset, found.count) == (path, 1, 2)


@pytest.mark.parametrize(
    "content",
    [b"https://x.org/home/ann/a", b"/home/", b"/tmp/x\0", b"/usr/lib/x/y", b"a/root/x", b"~/tmp/a/b", b"/homes/a/b"],
)
def test_a_path_that_every_machine_has_is_none(tmp_path: Path, content: bytes) -> None:
    assert search(tmp_path, content).build_paths == ()


def test_a_token_across_two_blocks_is_found_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "BLOCK", 4096)
    secret = SECRETS["GitHub token"]
    for start in range(4096 - len(secret) - 2, 4100):
        content = bytes(start) + secret + bytes(9000)
        (found,) = search(tmp_path, content).secrets
        assert found.offset == start


@pytest.mark.parametrize("unit", [b"hf_", b"/home/a/b\0", b"AKIA", b"torch.float8_e4m3fn\0"])
def test_a_file_full_of_beginnings_ends_the_search_and_that_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unit: bytes
) -> None:
    monkeypatch.setattr(contents_module, "MAX_PLACES", 1000)
    found = search(tmp_path, unit * 5000)
    assert found.unsearched == (("x.so", 999 * len(unit)),)
    assert found.sizes == (("x.so", 5000 * len(unit)),)
    findings = judge(VariantFacts(folder=False, contents=found), Expectation(), load_policy())
    assert "the search ended here" in [one.what for one in findings if one.rule == "secrets"][-1]


def test_more_python_than_anybody_writes_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contents_module, "MAX_PYTHON", 15)
    for name in ("a.py", "b.py", "c.py"):
        (tmp_path / name).write_text("x = 1\n")
    sources = read_everything(tmp_path, load_policy()).contents.python
    assert [source.path for source in sources if source.problem] == ["c.py"]


def test_dtypes_in_messages_tell_a_flavour_and_torchs_own_tables_do_not(tmp_path: Path) -> None:
    (tmp_path / "v").mkdir()
    (tmp_path / "v" / "x.so").write_bytes(b"")
    tables = b"Float8_e4m3fn\0aoti_torch_dtype_float8_e5m2\0"
    for text, flavours in (
        (b"a must be torch.float8_e4m3fnuz\0", {Fp8Flavour.FNUZ}),
        (b"torch.float8_e5m2fnuz", {Fp8Flavour.FNUZ}),
        (b"torch.float8_e4m3fn or torch.float8_e5m2.", {Fp8Flavour.OCP}),
        (b"torch.float8_e8m0fnu", set()),
        (b"", set()),
    ):
        assert search(tmp_path, tables + text).host_fp8 == (("x.so", frozenset(flavours)),)


class TestPython:
    def read(self, tmp_path: Path, source: str | bytes) -> PythonFile:
        path = tmp_path / "a.py"
        path.write_bytes(source if isinstance(source, bytes) else source.encode())
        return read_python(path, "a.py", python="3.9")

    @pytest.mark.parametrize(
        ("source", "line"),
        [
            ("x = 1\nmatch x:\n    case 1: pass\n", 3),
            ("def f(a: int | None): ...\n", 1),
            ("class A:\n    x: None | int = 1\n", 2),
            ("def f() -> 'int' | None: ...\n", 1),
            ("try: ...\nexcept* ValueError: ...\n", 2),
        ],
    )
    def test_what_python_3_9_cannot_load(self, tmp_path: Path, source: str, line: int) -> None:
        found = self.read(tmp_path, source)
        assert [one.line for one in found.newer] == [line]

    @pytest.mark.parametrize(
        "source",
        [
            "from __future__ import annotations\ndef f(a: int | None): ...\n",
            "def f(a: 'int | None'): ...\n",
            "def f():\n    x: int | None = 1\n",
            "x = 1 | 2\nfrom typing import Optional\ny: Optional[int] = None\n",
            "if (n := 3) > 2: ...\n",
            "def f(a, /, b): ...\n",
        ],
    )
    def test_what_it_can(self, tmp_path: Path, source: str) -> None:
        found = self.read(tmp_path, source)
        assert (found.problem, found.newer) == (None, ())

    def test_imports_ops_and_dtypes_are_read(self, tmp_path: Path) -> None:
        found = self.read(
            tmp_path,
            "import torch, gemm.layers\nfrom gemm import x\nfrom . import y\nfrom .z import w\n"
            "torch.ops.gemm.run(1)\n"
            "@torch.library.register_fake('gemm::run')\ndef f(): ...\n"
            "@torch.library.custom_op(f'gemm::{x}', mutates_args=())\ndef g(): ...\n"
            "@torch.library.register_fake(add_op_namespace_prefix('run'))\ndef h(): ...\n"
            "assert a.dtype is torch.float8_e4m3fnuz\n",
        )
        said = {
            name: [(one.line, one.text) for one in getattr(found, name)]
            for name in ("absolute", "namespaces", "registered")
        }
        assert said == {
            "absolute": [(1, "gemm.layers"), (1, "torch"), (2, "gemm")],
            "namespaces": [(5, "gemm")],
            "registered": [(6, "gemm::run"), (8, "gemm::")],
        }
        assert found.fp8 == {Fp8Flavour.FNUZ}

    @pytest.mark.parametrize(
        "source",
        [b"def", b"\0", b"\xff\xfe", b"(" * 60_000, b"-" * 60_000 + b"1", b"a" + b".a" * 30_000, b"#" * 2_000_000],
    )
    def test_a_hostile_source_is_a_problem_and_no_crash(self, tmp_path: Path, source: bytes) -> None:
        assert self.read(tmp_path, source).problem


def signature(signed: bytes = b"{}", **changes: str) -> dict[str, object]:
    digest = base64.b64encode(hashlib.sha256(signed).digest()).decode()
    return {"messageDigest": {"algorithm": "SHA2_256", "digest": digest, **changes}, "signature": "AA=="}


def bundle(signed: bytes, **changes: object) -> dict[str, object]:
    return {
        "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
        "verificationMaterial": {"certificate": {"rawBytes": ""}},
        "messageSignature": signature(signed),
        **changes,
    }


class TestSignature:
    def state(self, folder: Path, content: object) -> tuple[SignatureState, str]:
        (folder / "metadata.json").write_bytes(b"{}")
        text = content if isinstance(content, bytes) else json.dumps(content).encode()
        (folder / "metadata.json.sigstore").write_bytes(text)
        found = read_signature(folder)
        return found.state, found.detail

    def test_none_is_absent(self, tmp_path: Path) -> None:
        assert read_signature(tmp_path).state is SignatureState.ABSENT

    def test_one_of_the_metadata_is_present(self, tmp_path: Path) -> None:
        assert self.state(tmp_path, bundle(b"{}")) == (SignatureState.PRESENT, "")

    def test_one_of_other_bytes_is_told(self, tmp_path: Path) -> None:
        assert self.state(tmp_path, bundle(b"{ }"))[0] is SignatureState.OTHER_CONTENT

    @pytest.mark.parametrize(
        "content",
        [
            b"",
            b"[" * 500_000,
            b" " * 2_000_000,
            {},
            bundle(b"{}", mediaType="application/json"),
            bundle(b"{}", messageSignature=None),
            bundle(
                b"{}", messageSignature={"messageDigest": {"algorithm": "SHA2_256", "digest": "?"}, "signature": "x"}
            ),
            bundle(b"{}", messageSignature={"messageDigest": {"algorithm": "MD5", "digest": ""}, "signature": "x"}),
        ],
    )
    def test_anything_else_is_unreadable_and_says_why(self, tmp_path: Path, content: object) -> None:
        state, detail = self.state(tmp_path, content)
        assert state is SignatureState.UNREADABLE
        assert detail

    def test_a_link_out_of_the_directory_is_not_followed(self, tmp_path: Path) -> None:
        folder = tmp_path / "v"
        folder.mkdir()
        (folder / "metadata.json").write_bytes(b"{}")
        (tmp_path / "outside").write_text(json.dumps(bundle(b"{}")))
        (folder / "metadata.json.sigstore").symlink_to(tmp_path / "outside")
        assert read_signature(folder).state is SignatureState.UNREADABLE

    def test_the_signer_that_the_certificate_names_is_told(self, tmp_path: Path) -> None:
        uri = b"https://github.com/acme/gemm/.github/workflows/build.yaml@refs/heads/main"
        certificate = b"0\x82https://x" + b"\x86" + bytes([len(uri)]) + uri + b"\x30\x00"
        content = bundle(
            b"{}", verificationMaterial={"certificate": {"rawBytes": base64.b64encode(certificate).decode()}}
        )
        self.state(tmp_path, content)
        assert read_signature(tmp_path).signer == uri.decode()


@settings(max_examples=60, deadline=5000)
@given(st.binary(max_size=300), st.integers(0, 4))
def test_any_bytes_in_any_place_are_read_without_a_crash(content: bytes, kind: int) -> None:
    import tempfile  # noqa: PLC0415 - a folder for each example

    starts = (b"", b"hf_", b"-----BEGIN ", b"/home/", b"\x7fELF")
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        for name in ("a.py", "_ops.py", "metadata.json", "metadata.json.sigstore", "x.so"):
            (root / name).write_bytes(starts[kind] + content)
        read_everything(root, load_policy())
