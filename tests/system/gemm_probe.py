"""One variant of gemm, loaded and called in a process of its own, on a CPU torch that says it is a ROCm one.

``python -m tests.system.gemm_probe STUB BUILD HIP REPORT`` loads the stub HIP runtime, has ``get_local_kernel`` choose
and import a variant of ``BUILD``, calls it in every way that needs no GPU, and writes what happened. It judges nothing.
"""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec

from tests.system.gemm_calls import LAYOUTS, OTHER_SHAPE, SHAPE, WRONG_CALLS, Arguments, make_arguments, make_out
from tests.system.hip_stub.runtime import LAUNCH_FAILURE, SUCCESS, Launch, StubRuntime


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """What a call raised (``kind`` is ``None`` if it returned), and how many launches it made all the same."""

    kind: str | None
    text: str
    launches: int


@dataclass(frozen=True, kw_only=True)
class Reached:
    """A call whose launch reached the HIP runtime: the addresses of its tensors by name, and its result."""

    launches: list[Launch]
    addresses: dict[str, int]
    shape: tuple[int, ...]
    dtype: str


@dataclass(frozen=True, kw_only=True)
class Traced:
    """Compiled calls: how many graphs they took, the operators of each, and what the last result looks like."""

    graphs: list[list[str]]
    shape: tuple[int, ...]
    dtype: str
    device: str
    is_out: bool


@dataclass(kw_only=True)
class Report:
    """Everything that happened, by the name of the call."""

    file: str
    id: str
    exported: list[str]
    schemas: dict[str, str]
    kernels: list[str] = field(default_factory=list)
    reached: dict[str, Reached] = field(default_factory=dict)
    wrong: dict[str, dict[str, Refusal]] = field(default_factory=dict)
    on_cpu: Refusal | None = None
    failed_launch: dict[str, Refusal] = field(default_factory=dict)
    after_failed_launch: Refusal | None = None
    traced: dict[str, Traced] = field(default_factory=dict)
    dynamic: dict[str, Traced] = field(default_factory=dict)


class Probe:
    """The loaded kernel, its operators, and the stub that its launches reach."""

    def __init__(self, stub: str, build: Path, hip: str) -> None:
        import torch  # noqa: PLC0415 - this module is read in processes without torch

        self.torch: ModuleType = torch
        torch.version.hip = hip
        self.runtime = StubRuntime(stub)
        from kernels.importer import get_loaded_kernels  # noqa: PLC0415 - after torch says it is for ROCm
        from kernels.load import get_local_kernel  # noqa: PLC0415 - the same

        self.module: Any = get_local_kernel(build)
        (loaded,) = get_loaded_kernels()
        self.id = loaded.metadata.id
        self.ops: Any = getattr(torch.ops, self.id)
        self._cuda_key = torch._C.DispatchKeySet(torch._C.DispatchKey.CUDA)

    def shipped(self, arguments: Arguments) -> Any:
        """Call the code that is shipped for the GPU with tensors of the CPU; the out-variant if there is an ``out``."""
        op = self.ops.gemm_out if "out" in arguments else self.ops.gemm
        return op.default.redispatch(self._cuda_key, *arguments.values())

    def refusal(self, call: Callable[[], Any]) -> Refusal:
        before = len(self.runtime.launches)
        kind, text = None, ""
        try:
            call()
        except Exception as err:  # noqa: BLE001 - what a user would see is the subject
            kind, text = str(type(err).__name__), str(err)
        return Refusal(kind=kind, text=text, launches=len(self.runtime.launches) - before)

    def reach(self, arguments: Arguments) -> Reached:
        before = len(self.runtime.launches)
        result = self.shipped(arguments)
        made = arguments.get("out", result)
        addresses = {name: tensor.data_ptr() for name, tensor in {**arguments, "out": made}.items()}
        launches = self.runtime.launches[before:]
        return Reached(launches=launches, addresses=addresses, shape=tuple(made.shape), dtype=str(made.dtype))

    def trace(self, *calls: Arguments, dynamic: bool) -> Traced:
        graphs: list[list[str]] = []

        def backend(graph: Any, _: Any) -> Any:  # what backend="eager" does, and it keeps the names
            graphs.append([str(node.target) for node in graph.graph.nodes if node.op == "call_function"])
            return graph.forward

        self.torch.compiler.reset()
        compiled = self.torch.compile(self.module.gemm, backend=backend, fullgraph=True, dynamic=dynamic)
        result = [compiled(**arguments) for arguments in calls][-1]
        return Traced(
            graphs=graphs,
            shape=tuple(result.shape),
            dtype=str(result.dtype),
            device=result.device.type,
            is_out=result is calls[-1].get("out"),
        )


def run(probe: Probe) -> Report:
    """Make all the calls."""
    schemas = {name: str(getattr(probe.ops, name).default._schema) for name in ("gemm", "gemm_out")}
    report = Report(file=probe.module.__file__, id=probe.id, exported=probe.module.__all__, schemas=schemas)
    _reach(probe, report)
    _fail(probe, report)
    _refuse(probe, report)
    _trace(probe, report)
    report.kernels = sorted(probe.runtime.kernels())
    return report


def _right(probe: Probe, *, device: str = "cpu") -> Arguments:
    return make_arguments(probe.torch, SHAPE, device=device)


def _with_out(probe: Probe, arguments: Arguments, *, device: str = "cpu") -> Arguments:
    return {**arguments, "out": make_out(probe.torch, SHAPE, device=device)}


def _reach(probe: Probe, report: Report) -> None:
    for layouts in LAYOUTS:
        arguments = make_arguments(probe.torch, SHAPE, layouts)
        report.reached[f"gemm-{layouts}"] = probe.reach(arguments)
        report.reached[f"gemm_out-{layouts}"] = probe.reach(_with_out(probe, arguments))
    report.on_cpu = probe.refusal(lambda: probe.module.gemm(**_right(probe)))


def _fail(probe: Probe, report: Report) -> None:
    right = _right(probe)
    probe.runtime.result = LAUNCH_FAILURE
    report.failed_launch["gemm"] = probe.refusal(lambda: probe.shipped(right))
    report.failed_launch["gemm_out"] = probe.refusal(lambda: probe.shipped(_with_out(probe, right)))
    probe.runtime.result = SUCCESS
    report.after_failed_launch = probe.refusal(lambda: probe.shipped(right))


def _refuse(probe: Probe, report: Report) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415 - see Probe

    for name, call in WRONG_CALLS.items():
        wrong = call.change(probe.torch, _with_out(probe, _right(probe)))
        ways = {"gemm_out": probe.refusal(lambda wrong=wrong: probe.shipped(wrong))}  # type: ignore[misc] # bound now
        if not name.startswith("out"):
            inputs = {key: value for key, value in wrong.items() if key != "out"}
            ways["gemm"] = probe.refusal(lambda inputs=inputs: probe.shipped(inputs))  # type: ignore[misc] # bound now
        if call.traced:
            with FakeTensorMode():
                right = _with_out(probe, _right(probe, device="cuda"), device="cuda")
                fake = call.change(probe.torch, right)
                ways["fake"] = probe.refusal(lambda fake=fake: probe.module.gemm(**fake))  # type: ignore[misc] # same
        report.wrong[name] = ways


def _trace(probe: Probe, report: Report) -> None:
    from torch._subclasses.fake_tensor import FakeTensorMode  # noqa: PLC0415 - see Probe

    with FakeTensorMode():
        other = make_arguments(probe.torch, OTHER_SHAPE, device="cuda")
        other_out = {**other, "out": make_out(probe.torch, OTHER_SHAPE, device="cuda")}
        right = _right(probe, device="cuda")
        right_out = _with_out(probe, right, device="cuda")
        report.traced["gemm"] = probe.trace(right, dynamic=False)
        report.traced["gemm_out"] = probe.trace(right_out, dynamic=False)
        report.dynamic["gemm"] = probe.trace(other, right, dynamic=True)
        report.dynamic["gemm_out"] = probe.trace(other_out, right_out, dynamic=True)


def main(stub: str, build: str, hip: str, report: str) -> None:
    """Probe one variant and write the report."""
    Path(report).write_bytes(msgspec.json.encode(run(Probe(stub, Path(build), hip))))


if __name__ == "__main__":
    main(*sys.argv[1:])
