"""Tests of the built kernel on an AMD GPU; without one they are skipped.

The kernel comes from the built package that GEMM_BUILD names (a variant directory, or one that holds build/<variant>),
else from wherever ``import gemm`` finds it.
"""

from __future__ import annotations

import importlib
import os
import sys
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="needs a ROCm build of torch")
pytest.importorskip("rocmatrix.cases", reason="the cases are declared with rocmatrix; pip install rocmatrix")

sys.path.insert(0, str(Path(__file__).parent))
from cases import CASES  # noqa: E402 - found beside this file, once the path says so

if torch.version.hip is None or not torch.cuda.is_available():
    pytest.skip("needs an AMD GPU and a ROCm build of torch", allow_module_level=True)
if not torch.cuda.get_device_properties(0).gcnArchName.startswith("gfx942"):
    pytest.skip("needs a gfx942 GPU (MI300X, MI300A, MI325X)", allow_module_level=True)

DEVICE = "cuda"
M, N, K = 96, 160, 256
NUMPY_TO_TORCH = {"float8_e4m3fnuz": torch.float8_e4m3fnuz}


@pytest.fixture(scope="session")
def gemm():
    if build := os.environ.get("GEMM_BUILD"):
        return importlib.import_module("kernels").get_local_kernel(Path(build)).gemm
    return importlib.import_module("gemm").gemm


def to_torch(array):
    """Copy to the GPU; strides are kept, and dtypes that NumPy does not have travel as bytes."""
    dtype = NUMPY_TO_TORCH.get(str(array.dtype))
    if dtype is None:
        return torch.from_numpy(array).to(DEVICE)
    return torch.from_numpy(array.view(np.uint8)).to(DEVICE).view(dtype)


def make_tensors(m=M, n=N, k=K, seed=0):
    generator = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=generator)

    return {
        "a": normal(m, k).to(torch.float8_e4m3fnuz).to(DEVICE),
        "b": normal(k, n).to(torch.float8_e4m3fnuz).to(DEVICE),
        "a_scale": normal(k // 128, m).to(DEVICE),
        "b_scale": normal(k // 128, -(-n // 128)).to(DEVICE),
    }


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_result_is_within_tolerance_of_the_float64_reference(gemm, case):
    arguments = case.make_arguments()
    want = case.reference(**arguments)
    got = gemm(*(to_torch(value) for value in arguments.values())).double().cpu().numpy()
    assert got.shape == want.shape
    np.testing.assert_array_equal(np.isnan(got), np.isnan(want))
    error = np.abs(got - want)[~np.isnan(want)]
    assert (error <= case.atol + case.rtol * np.abs(want[~np.isnan(want)])).all(), f"largest error {error.max()}"


def test_out_is_written_and_returned(gemm):
    tensors = make_tensors()
    out = torch.full((M, N), float("nan"), dtype=torch.bfloat16, device=DEVICE)
    assert gemm(**tensors, out=out) is out
    assert torch.equal(out, gemm(**tensors))


def test_operands_may_start_at_any_byte(gemm):
    tensors = make_tensors()
    want = gemm(**tensors)
    for name in ("a", "b"):
        moved = torch.empty(tensors[name].numel() + 1, dtype=torch.uint8, device=DEVICE)[1:].view(torch.float8_e4m3fnuz)
        tensors[name] = moved.view(tensors[name].shape).copy_(tensors[name])
    assert torch.equal(gemm(**tensors), want)


def test_work_is_queued_on_the_current_stream(gemm):
    tensors = make_tensors(m=512, n=512, k=1024)
    want = gemm(**tensors)
    changed = tensors["b_scale"].clone()
    changed.zero_()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)  # noqa: SLF001 - torch's own tests keep a stream busy with it
        changed.copy_(tensors["b_scale"])
        got = gemm(**{**tensors, "b_scale": changed})
    stream.synchronize()
    assert torch.equal(got, want)


def test_call_survives_torch_compile(gemm):
    tensors = make_tensors()
    compiled = torch.compile(lambda **arguments: gemm(**arguments) + 1, fullgraph=True)
    torch.testing.assert_close(compiled(**tensors), gemm(**tensors) + 1)


def strided(tensor):
    """Return the same elements in every second column of a wider tensor."""
    wide = tensor.new_empty(tensor.shape[0], 2 * tensor.shape[1])
    return wide[:, ::2].copy_(tensor)


@pytest.mark.parametrize(
    ("name", "change", "accepted"),
    [
        ("a", lambda t: t.to(torch.float32), "torch.float8_e4m3fnuz"),
        ("b", lambda t: t.to(torch.float8_e4m3fn), "torch.float8_e4m3fnuz"),
        ("a_scale", lambda t: t.to(torch.bfloat16), "torch.float32"),
        ("b_scale", lambda t: t.double(), "torch.float32"),
        ("a", lambda t: t[0], "2 dimensions"),
        ("a", lambda t: t[:, :100], "multiple of 128|agree in K"),
        ("a", lambda t: t[:0], "at least 1"),
        ("b", lambda t: t[:128], "agree in K"),
        ("a_scale", lambda t: t[:, :-1].contiguous(), r"\(K / 128, M\) = \(2, 96\)"),
        ("b_scale", lambda t: t[:, :1].contiguous(), r"ceil\(N / 128\)\) = \(2, 2\)"),
        ("a", strided, "transpose of a contiguous"),
        ("b", strided, "transpose of a contiguous"),
        ("a_scale", lambda t: t.t().contiguous().t(), "must be contiguous"),
        ("b_scale", lambda t: t.t().contiguous().t(), "must be contiguous"),
        ("b", lambda t: t.cpu(), "on one GPU"),
        ("b_scale", lambda t: t.cpu(), "on one GPU"),
    ],
)
def test_bad_argument_is_refused_with_what_is_accepted(gemm, name, change, accepted):
    tensors = make_tensors()
    tensors[name] = change(tensors[name])
    with pytest.raises(RuntimeError, match=accepted):
        gemm(**tensors)


@pytest.mark.parametrize(
    ("out", "accepted"),
    [
        (lambda: torch.empty(M, N, dtype=torch.float32, device=DEVICE), "torch.bfloat16"),
        (lambda: torch.empty(N, M, dtype=torch.bfloat16, device=DEVICE), r"\(M, N\) = \(96, 160\)"),
        (lambda: torch.empty(N, M, dtype=torch.bfloat16, device=DEVICE).t(), "must be contiguous"),
    ],
)
def test_bad_out_is_refused_with_what_is_accepted(gemm, out, accepted):
    with pytest.raises(RuntimeError, match=accepted):
        gemm(**make_tensors(), out=out())


def test_out_on_top_of_an_input_is_refused(gemm):
    memory = torch.zeros(2 * 128 * 128, dtype=torch.uint8, device=DEVICE)
    tensors = make_tensors(m=128, n=128, k=128)
    tensors["a"] = memory[: 128 * 128].view(torch.float8_e4m3fnuz).view(128, 128)
    with pytest.raises(RuntimeError, match="share memory with a"):
        gemm(**tensors, out=memory.view(torch.bfloat16).view(128, 128))


def test_tensors_on_the_cpu_are_refused(gemm):
    with pytest.raises(NotImplementedError, match="CPU"):
        gemm(**{name: tensor.cpu() for name, tensor in make_tensors().items()})
