"""``rocmatrix verify --load``: published variants, fetched and imported by the real client on a real CPU torch."""

from __future__ import annotations

import base64
import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.golden.make_dist import DIST
from tests.system.hub import RunningHub, serving
from tests.system.test_audit_verify import SCALE, VARIANT, Verified, Verify, files_of, publish, verifier
from tests.system.torch_version import torch_version

GONE = b"import torch\n\ntorch.a_function_that_is_gone()\n"
ABORT = b"import os\n\nos.abort()\n"
NO_UNICODE = b"raise Exception('\\ud800')\n"
GARBAGE = b"""import json
import os
import sys

with open(sys.argv[2]) as job, open(json.load(job)["result"], "w") as result:
    result.write('{"a":' * 100000)
os._exit(0)
"""
HUGE = GARBAGE.replace(b"""write('{"a":' * 100000)""", b"truncate(1 << 40)")
NO_CREDENTIAL = b"""import os

found = sorted(name for name in os.environ if "TOKEN" in name or name == "HF_ENDPOINT")
assert not found, found
"""
OPERATOR = b"""
import torch

torch.library.define("loaded::op", "(Tensor x) -> Tensor")
"""
pytestmark = [
    pytest.mark.needs_torch,
    pytest.mark.needs_llvm,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),  # huggingface_hub's own, of httpx2
]


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningHub]:
    with serving(tmp_path_factory.mktemp("hub")) as running:
        yield running


@pytest.fixture(scope="module")
def verify(hub: RunningHub) -> Iterator[Verify]:
    with verifier(hub) as run:
        yield run


def variant(name: str, code: bytes = b"", *, honest: bool = True) -> dict[str, bytes]:
    """Return a variant under another name, with code at the end of its ``__init__.py``; ``honest``: with its digest."""
    files = {Path(path).name: content for path, content in files_of(SCALE).items() if VARIANT in path}
    files["__init__.py"] += code
    return renamed(name, with_digest(files, "__init__.py") if honest else files)


def with_digest(files: dict[str, bytes], name: str) -> dict[str, bytes]:
    """Return files of which the metadata states the digest that one really has."""
    metadata = json.loads(files["metadata.json"])
    metadata["digest"]["files"][name] = base64.b64encode(hashlib.sha256(files[name]).digest()).decode()
    return {**files, "metadata.json": json.dumps(metadata).encode()}


def renamed(name: str, files: dict[str, bytes]) -> dict[str, bytes]:
    return {f"build/torch-stable-{name}-x86_64-linux/{path}": content for path, content in files.items()}


def other_call() -> dict[str, bytes]:
    """Return a variant that asks HIP for a call which nobody has."""
    files = {Path(path).name: content for path, content in files_of(SCALE).items() if VARIANT in path}
    (name,) = [name for name in files if name.endswith(".so")]
    files[name] = files[name].replace(b"hipGetDeviceCount\0", b"hipGetDeviceCoins\0")
    return renamed("abi210-rocm72", with_digest(files, name))


def load(hub: RunningHub, verify: Verify, files: dict[str, bytes], python: str = sys.executable) -> Verified:
    """Publish files as a kernel, and verify it with an import of each variant."""
    return verify(publish(hub, files), "--json", "--load", python)


@dataclass(frozen=True, kw_only=True)
class Many:
    """One verification of a kernel with variants of every kind, and the places where their code left a mark."""

    done: Verified
    sound: Path
    unsound: Path

    def found(self, name: str) -> tuple[str, str]:
        """Return state and reason of a variant."""
        each = loads(self.done)[f"torch-stable-{name}-x86_64-linux"]
        return str(each["state"]), str(each["said"])


def loads(done: Verified) -> dict[str, dict[str, object]]:
    """Return what the document says of each variant."""
    return {each["variant"]: each for each in json.loads(done.out)["load"]["variants"]}


@pytest.fixture(scope="module")
def many(hub: RunningHub, verify: Verify) -> Many:
    sound, unsound = hub.home / "sound-was-run", hub.home / "unsound-was-run"
    files = {
        **variant("abi210-rocm70", GONE),
        **variant("abi210-rocm71", ABORT),
        **variant("abi210-rocm72", f"open({str(unsound)!r}, 'w')\n".encode(), honest=False),
        **variant("abi210-rocm73", NO_CREDENTIAL + f"open({str(sound)!r}, 'w')\n".encode()),
        **variant("abi299-rocm74"),
        **variant("abi210-rocm75"),
        **variant("abi211-rocm75", OPERATOR),
        **variant("abi210-rocm76", NO_UNICODE),
        **variant("abi210-rocm77", GARBAGE),
        **variant("abi210-rocm78", HUGE),
    }
    return Many(done=load(hub, verify, files), sound=sound, unsound=unsound)


def test_a_variant_whose_import_fails_is_named_with_what_a_user_would_see(many: Many) -> None:
    state, said = many.found("abi210-rocm70")
    assert state == "failed"
    assert said == "AttributeError: module 'torch' has no attribute 'a_function_that_is_gone'"
    assert (many.done.code, json.loads(many.done.out)["outcome"]) == (5, "failed")


def test_a_process_that_an_import_takes_down_is_a_failed_import(many: Many) -> None:
    state, said = many.found("abi210-rocm71")
    assert state == "failed"
    assert "the process that imported it ended: exit status -6" in said


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("abi210-rocm76", "Exception: \\ud800"),
        ("abi210-rocm77", "what its import left cannot be read: it is nested too deep"),
        ("abi210-rocm78", "what it left cannot be used: the file is larger than"),
    ],
)
def test_what_a_kernel_makes_of_the_process_is_its_own_fault(many: Many, name: str, reason: str) -> None:
    state, said = many.found(name)
    assert state == "failed"
    assert reason in said


def test_nothing_of_a_variant_whose_audit_failed_is_run(many: Many) -> None:
    assert many.found("abi210-rocm72") == ("passed over", "its audit failed: nothing of it is run")
    assert not many.unsound.exists()
    assert many.sound.exists(), "the control: the same code is run where its digest is the stated one"


def test_what_was_loaded_is_told_with_its_operators_and_the_torch_and_without_a_gpu(many: Many) -> None:
    torch = torch_version()
    found = loads(many.done)["torch-stable-abi211-rocm75-x86_64-linux"]
    assert (found["state"], found["hip"], found["operators"]) == ("loaded", "stand-in", ["loaded::op"])
    report = json.loads(many.done.out)["load"]
    assert (report["torch"], report["rocm"]) == (torch, None)
    said = f"2 variants of 10 loaded on torch {torch}, a build without ROCm; nothing was launched"
    assert said in many.done.err


def test_a_kernel_that_is_imported_finds_no_credential_of_the_caller(many: Many) -> None:
    assert many.found("abi210-rocm73") == ("loaded", "")


def test_a_level_that_this_torch_does_not_have_is_the_client_s_rejection(many: Many) -> None:
    state, said = many.found("abi299-rocm74")
    assert state == "failed"
    assert "the client rejects it: FileNotFoundError: Cannot find a build variant for this system" in said


def test_a_variant_that_this_torch_does_not_get_is_passed_over_and_said(many: Many) -> None:
    assert many.found("abi211-rocm75") == ("loaded", "")
    said = "on this torch the client takes torch-stable-abi211-rocm75-x86_64-linux instead"
    assert many.found("abi210-rocm75") == ("passed over", said)


def test_a_call_of_hip_that_the_stand_in_lacks_decides_nothing(hub: RunningHub, verify: Verify) -> None:
    done = load(hub, verify, other_call())
    (found,) = loads(done).values()
    assert (done.code, found["state"]) == (3, "undecided")
    assert found["said"] == "it calls hipGetDeviceCoins of HIP, which the stand-in lacks"


def test_a_kernel_without_such_a_variant_is_an_input_error(hub: RunningHub, verify: Verify) -> None:
    done = load(hub, verify, files_of(DIST / "kernels/norm/build"))
    assert done.code == 2
    assert json.loads(done.out)["error"]["what"] == "it has no stable-ABI variant for ROCm on x86-64"


def test_a_python_that_cannot_be_asked_is_told_with_what_to_install(hub: RunningHub, verify: Verify) -> None:
    done = load(hub, verify, variant("abi210-rocm72"), str(Path(sys.executable).resolve()))
    error = json.loads(done.out)["error"]
    assert (done.code, error["exit_code"]) == (3, 3)
    assert "No module named 'torch'" in error["what"]
    assert error["fix"] == "Install into it, on any index: torch, and kernels==0.17.2."
    done = load(hub, verify, variant("abi210-rocm72"), "no-such-python")
    assert (done.code, json.loads(done.out)["error"]["what"]) == (2, "'no-such-python' is no program")


def test_a_failed_audit_is_shown_though_nothing_can_be_imported(hub: RunningHub, verify: Verify) -> None:
    files = variant("abi210-rocm72", b"# changed\n", honest=False)
    done = load(hub, verify, files, str(Path(sys.executable).resolve()))
    assert done.code == 5
    assert json.loads(done.out)["outcome"] == "failed"


def test_a_python_that_is_none_is_refused_before_the_hub_is_asked(verify: Verify) -> None:
    done = verify("nobody/has-this", "--json", "--load", "/no/such/python")
    assert (done.code, json.loads(done.out)["error"]["what"]) == (2, "'/no/such/python' is no program")
