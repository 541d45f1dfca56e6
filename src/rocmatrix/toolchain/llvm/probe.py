"""The probe: two libraries, compiled and linked exactly as an extension, that throw and catch across their boundary.

An audit cannot see everything: one way of linking libstdc++'s streams passed every check and loaded, but printed "HIP
error " without the number. So errors are forced and their messages compared word for word, once for each compiler and
recipe.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock

from rocmatrix.engine.interface import Command, Completed, Engine
from rocmatrix.records import Gate
from rocmatrix.toolchain.interface import Step
from rocmatrix.toolchain.llvm import flags
from rocmatrix.toolchain.llvm.facts import FOLDER, HIP_INCLUDE
from rocmatrix.toolchain.llvm.flags import LinkInputs
from rocmatrix.toolchain.llvm.kit import Kit, task

SOURCES = FOLDER / "probe"
THROWS = 1000
"""How often each part is thrown and caught."""

_STEP_SECONDS = 600.0

EXPECTED = (
    ("streams and numbers", "HIP error 719 (0x2cf) after 0.5 s, 18446744073709551615 bytes"),
    ("stoi", "stoi: no conversion"),
    ("at", "vector"),
    ("exception_ptr", "HIP error 719 (0x2cf) after 0.5 s, 18446744073709551615 bytes"),
    ("async", "HIP error 98 (0x62) after 0.5 s, 18446744073709551615 bytes"),
    ("thread", "thread 98"),
    ("make_exception_ptr", "made 1"),
    ("nested", "outer 2 from inner 1"),
    ("system_error", "open: No such file or directory"),
    ("regex", "The expression contained mismatched ( and )."),
    ("filesystem", 'filesystem error: in file_size: No such file or directory ["/nowhere/at/all"]'),
    ("bad_alloc", "std::bad_alloc"),
    ("bad_cast", "std::bad_cast"),
    ("thrown in libstdc++", "row 7 of 3"),
    ("uncaught_exceptions", "int 719, uncaught 1"),
)
"""Parts of the probe in the order of ``probe/parts.h``, and the message that must arrive."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """The probe of one kit.

    Attributes:
        with_shim: whether the exception shim is linked in; a test leaves it out.
    """

    kit: Kit
    folder: Path
    with_shim: bool = True

    @property
    def thrower(self) -> Path:
        """The library that throws."""
        return self.folder / "libprobe-thrower.so"

    @property
    def catcher(self) -> Path:
        """The library that catches, and is loaded."""
        return self.folder / "libprobe-catcher.so"

    def steps(self) -> tuple[Step, ...]:
        """Return the steps that make both libraries."""
        objects = [self._compile(name) for name in ("thrower", "catcher")]
        thrower, catcher = (step.outputs[0] for step in objects)
        return (
            *self.kit.steps(),
            *objects,
            self._link(self.thrower, (thrower,), ()),
            self._link(self.catcher, (catcher,), (self.thrower,)),
        )

    def _compile(self, name: str) -> Step:
        source = SOURCES / f"{name}.cpp"
        output = self.folder / f"{name}.o"
        own = flags.own_flags(self.kit.compiler.lib, SOURCES, HIP_INCLUDE)
        argv = (str(self.kit.compiler.program), "clang", *own, "-c", str(source))
        return Step(label=f"probe {name}", argv=(*argv, "-o", str(output)), inputs=(source,), outputs=(output,))

    def _link(self, output: Path, objects: tuple[Path, ...], kept: tuple[Path, ...]) -> Step:
        shim = (self.kit.shim,) if self.with_shim else ()
        inputs = LinkInputs(objects=(*objects, *shim), kept=kept, libraries=self.kit.runtime())
        argv = flags.link_command(self.kit.compiler.program, output, inputs, strip=True)
        everything = (*inputs.objects, *inputs.kept, *inputs.libraries)
        return Step(label=f"probe {output.name}", argv=argv, inputs=everything, outputs=(output,))


def message_gate(engine: Engine, kit: Kit) -> Gate:
    """Force every error of the probe and compare what arrives; a result that held is remembered with the kit."""
    remembered = kit.folder / "probe.json"
    kit.folder.mkdir(parents=True, exist_ok=True)
    with FileLock(kit.folder / "probe.lock"):
        if remembered.is_file():
            gate = judge(_parse(remembered.read_text(encoding="utf-8", errors="replace")))
            if gate.passed:
                return gate
        probe = Probe(kit=kit, folder=kit.folder / "probe")
        said = run_probe(engine, probe)
        gate = judge(_parse(said))
        if gate.passed:
            unfinished = remembered.with_suffix(".making")
            unfinished.write_text(said, encoding="utf-8")
            unfinished.replace(remembered)
        return gate


def run_probe(engine: Engine, probe: Probe) -> str:
    """Build and run the probe; return what it printed, which is a JSON list of messages if all went well."""
    probe.folder.mkdir(parents=True, exist_ok=True)
    for step in probe.steps():
        done = _run(engine, step.argv, probe.folder)
        if done.returncode != 0:
            return f"{step.label}: {done.output}"
    environment = {"LD_LIBRARY_PATH": str(probe.folder)}
    done = _run(engine, task("catch", str(probe.catcher), str(THROWS)), probe.folder, environment)
    return done.output if done.returncode == 0 else f"the probe ended with {done.returncode}: {done.output}"


def judge(messages: list[str] | str) -> Gate:
    """Compare messages with those that must arrive; a text instead of a list says why there are none."""
    name = "error-message"
    if isinstance(messages, str):
        return Gate(name=name, passed=False, detail=messages.strip()[:2000])
    wanted = [text for _, text in EXPECTED]
    for (part, text), seen in zip(EXPECTED, messages, strict=False):
        if text != seen:
            return Gate(name=name, passed=False, detail=f"{part}: {seen!r} arrived instead of {text!r}")
    if len(messages) != len(wanted):
        return Gate(name=name, passed=False, detail=f"{len(messages)} messages arrived instead of {len(wanted)}")
    detail = (
        f"{len(wanted)} kinds of forced errors, {THROWS} times each, arrived word for word; the first: {wanted[0]!r}"
    )
    return Gate(name=name, passed=True, detail=detail)


def _run(engine: Engine, argv: tuple[str, ...], folder: Path, environment: dict[str, str] | None = None) -> Completed:
    return engine.run(Command(argv=argv, cwd=folder, timeout=_STEP_SECONDS, environment=environment or {}))


def _parse(text: str) -> list[str] | str:
    try:
        messages = json.loads(text)
    except ValueError:
        return text
    return messages if isinstance(messages, list) else text
