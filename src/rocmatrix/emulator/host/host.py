"""A variant's shared object, loaded with stand-ins for torch and HIP, and its operators to call."""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from rocmatrix.cases import Array
from rocmatrix.emulator.code_object import CodeObject
from rocmatrix.emulator.delivery import Delivery
from rocmatrix.emulator.device import Options
from rocmatrix.emulator.host.arena import Arena
from rocmatrix.emulator.host.aten import Aten
from rocmatrix.emulator.host.emulation import Emulation, make_device
from rocmatrix.emulator.host.hip_library import HipLibrary
from rocmatrix.emulator.host.launch import Launch
from rocmatrix.emulator.host.needs import HIP_LIBRARY
from rocmatrix.emulator.host.profiles import Profile
from rocmatrix.emulator.host.schema import Parameter, Schema, parse_schema
from rocmatrix.emulator.host.torch_library import TorchLibrary
from rocmatrix.emulator.numerics import DEFAULT_NUMERICS, Numerics
from rocmatrix.emulator.reports import Fault, FaultError, UnsupportedError
from rocmatrix.errors import InputError

TORCH_VERSION = (2, 13)
"""The torch that is played: the one whose headers the stand-in follows."""
_KEYS = ("CUDA", "CompositeExplicitAutograd", "CompositeImplicitAutograd")
"""Dispatch keys that serve GPU tensors; ROCm builds of torch answer to CUDA."""


class ExtensionError(Exception):
    """An operator threw; the message is the whole text of its exception."""


@dataclass(frozen=True, kw_only=True)
class Call:
    """What a call of an operator came to.

    Attributes:
        outputs: tensors that it returned, as arrays of their own.
        arguments: the tensors that it was given, by name, as they were afterwards.
        launches: in their order.
        instructions: that all waves executed together.
        findings: what the detectors found in its launches.
        remarks: code of its launches that could not be analysed.
    """

    outputs: tuple[Array, ...]
    arguments: Mapping[str, Array]
    launches: tuple[Launch, ...]
    instructions: int
    findings: tuple[Fault, ...] = ()
    remarks: tuple[str, ...] = ()


class Host:
    """One loaded variant. One for each process: a second extension of the same name would crash it."""

    def __init__(
        self,
        variant: Path,
        libraries: Sequence[Path],
        *,
        profile: Profile,
        options: Options,
        code_cache: Path | None = None,
    ) -> None:
        """Load the stand-ins, then the variant, which registers its operators.

        Args:
            variant: the shared object.
            libraries: stand-ins, libtorch_cpu.so first.
            profile: which device the runtime says it has.
            options: order and limits of launches.
            code_cache: see ``make_device``.

        Raises:
            InputError: the loader does not take the variant.
            UnsupportedError: it asks for what the stand-ins do not have.
        """
        self._arena = Arena(profile.memory)
        self._emulation = Emulation(self._arena, make_device(code_cache), options)
        self._launches: list[Launch] = []
        self._instructions = 0
        self._findings: list[Fault] = []
        self._unanalysed: list[str] = []
        self._options = options
        self._undefined: frozenset[str] = frozenset()
        self._launch_options = options
        self._torch = TorchLibrary(libraries[0], self._arena, TORCH_VERSION)
        Aten(self._torch)
        hip = [path for path in libraries if HIP_LIBRARY.fullmatch(path.name)]
        self._hip = HipLibrary(hip[0], self._arena, profile, self._execute) if hip else None
        self._others = [ctypes.CDLL(str(path), mode=os.RTLD_LOCAL) for path in libraries[1:] if path not in hip]
        self._variant = _loaded(variant)
        self._check()
        self.schemas = {name: parse_schema(text) for name, text in self._torch.registrations.schemas.items()}

    def call(
        self,
        operator: str,
        values: Mapping[str, Array],
        *,
        undefined: frozenset[str] = frozenset(),
        numerics: Numerics = DEFAULT_NUMERICS,
        seed: int | None = None,
        delivery: Delivery = Delivery.EARLY,
    ) -> Call:
        """Call an operator with GPU tensors, as the dispatcher would.

        Args:
            operator: its name without namespace.
            values: what is passed, in the schema's order, under any names; arrays become tensors with the same strides,
                or scalars where the schema has one.
            undefined: tensors among them that the operator is to write: what they hold counts as never written.
            numerics: how arithmetic is done where that is not documented to the last bit.
            seed: order of workgroups and waves, in place of the usual one.
            delivery: when loads arrive.

        Raises:
            InputError: there is no such operator, or the values do not fit its schema.
            ExtensionError: it threw.
            FaultError: a kernel did something wrong.
            UnsupportedError: something is beyond what is emulated.
        """
        schema, function = self._schema(operator, len(values)), self._function(operator)
        options = replace(self._options, numerics=numerics, delivery=delivery)
        self._begin(undefined, options if seed is None else replace(options, seed=seed))
        return self._called(schema, function, values)

    def _called(self, schema: Schema, function: int, values: Mapping[str, Array]) -> Call:
        """Call an operator's function, and return what it came to."""
        tensors: dict[str, int] = {}
        results: list[int] = []
        try:
            words = self._words(schema, values, tensors)
            results, thrown = self._torch.call(function, words, len(schema.returns))
            self._check()
            if thrown is not None:
                raise ExtensionError(thrown)
            return self._came_to(schema, results, tensors)
        finally:
            for handle in (*tensors.values(), *results):
                self._torch.delete(handle)

    def _begin(self, undefined: frozenset[str], options: Options) -> None:
        """Forget the call before."""
        self._launches, self._instructions, self._findings, self._unanalysed = [], 0, [], []
        self._undefined = undefined
        self._launch_options = options

    @property
    def remarks(self) -> tuple[str, ...]:
        """What the runtime answered with an error so far, though the launcher may have handled it."""
        return tuple(self._hip.remarks) if self._hip else ()

    def _came_to(self, schema: Schema, results: Sequence[int], tensors: Mapping[str, int]) -> Call:
        if set(schema.returns) - {"Tensor"}:
            results_text = ", ".join(schema.returns)
            raise UnsupportedError(f"an operator that returns ({results_text})")
        for handle in (*results, *(tensors[name] for name in tensors if name in self._undefined)):
            self._look_for_unwritten(handle)
        return Call(
            outputs=tuple(self._torch.array(handle, reading=True).copy() for handle in results),
            arguments={name: self._torch.array(handle, reading=True).copy() for name, handle in tensors.items()},
            launches=tuple(self._launches),
            instructions=self._instructions,
            findings=tuple(dict.fromkeys(self._findings)),
            remarks=tuple(dict.fromkeys(self._unanalysed)),
        )

    def _look_for_unwritten(self, handle: int) -> None:
        """Report elements of a result that no kernel wrote."""
        array = self._torch.array(handle, reading=True)
        if self._launches and array.size:
            kernel = self._launches[-1].kernel
            self._findings.extend(self._emulation.unwritten(array.ctypes.data, array.nbytes, kernel))

    def _execute(self, launch: Launch, code_object: CodeObject) -> None:
        self._launches.append(launch)
        try:
            execution = self._emulation.run(launch, code_object, self._launch_options)
        except FaultError as err:
            self._findings.extend(err.findings)
            raise
        self._instructions += execution.instructions
        self._findings.extend(execution.findings)
        self._unanalysed.extend(execution.remarks)

    def _check(self) -> None:
        self._torch.check()
        if self._hip:
            self._hip.check()

    def _schema(self, operator: str, given: int) -> Schema:
        """Return an operator's schema, which takes at least as many arguments as are given."""
        if operator not in self.schemas:
            known = ", ".join(sorted(self.schemas)) or "none"
            raise InputError(f"the variant has no operator {operator!r}", fix=f"Its operators are: {known}.")
        schema = self.schemas[operator]
        if given > len(schema.parameters):
            what = f"{operator} takes {len(schema.parameters)} arguments, and {given} are given"
            raise InputError(what, fix="Give the arguments that the operator's schema has.")
        return schema

    def _function(self, operator: str) -> int:
        functions = self._torch.registrations.functions
        for key in _KEYS:
            if (operator, key) in functions:
                return functions[operator, key]
        keys = ", ".join(key for name, key in functions if name == operator) or "none"
        raise InputError(
            f"the operator {operator!r} has no implementation for ROCm",
            fix=f"Register one for the dispatch key CUDA; it has these: {keys}.",
        )

    # -- arguments -----------------------------------------------------------------------------------------------

    def _words(self, schema: Schema, values: Mapping[str, Array], tensors: dict[str, int]) -> list[int]:
        """Return the stack of a call; handles that stay ours are added to ``tensors`` by name."""
        names = [*values, *([None] * (len(schema.parameters) - len(values)))]
        return [
            self._default(parameter) if name is None else self._word(parameter, name, values[name], tensors)
            for parameter, name in zip(schema.parameters, names, strict=True)
        ]

    def _word(self, parameter: Parameter, name: str, value: Array, tensors: dict[str, int]) -> int:
        word = self._plain_word(parameter, name, value, tensors)
        return self._torch.new_optional(word) if parameter.optional else word

    def _plain_word(self, parameter: Parameter, name: str, value: Array, tensors: dict[str, int]) -> int:
        if parameter.type == "Tensor":
            tensors[name] = self._torch.copy_in(
                f"the argument {name}", value, writable=parameter.mutable, written=name not in self._undefined
            )
            return self._torch.view(tensors[name], *self._extents(tensors[name]))
        if parameter.type in {"int[]", "SymInt[]"} and value.ndim == 1:
            return self._torch.new_list(int(item) for item in value)
        if value.size == 1:
            word = _scalar(parameter.type, value)
            if word is not None:
                return word
        raise UnsupportedError(
            f"an argument {name} of the schema's type {parameter.type} from an array of {value.shape}"
        )

    def _extents(self, handle: int) -> tuple[tuple[int, ...], tuple[int, ...], int]:
        facts = self._torch.facts(handle)
        return facts.sizes, facts.strides, facts.offset

    def _default(self, parameter: Parameter) -> int:
        """Return the value of a parameter that is not given."""
        text = parameter.default
        if text is None:
            raise InputError(f"no value is given for {parameter.name}", fix="Give the arguments that the schema has.")
        if text == "None" and parameter.optional:
            return 0
        literals = {"True": True, "False": False}
        try:
            value = np.asarray(literals[text] if text in literals else float(text))
        except ValueError as err:
            raise UnsupportedError(f"the default {text} of the parameter {parameter.name}") from err
        word = _scalar(parameter.type, value)
        if word is None:
            raise UnsupportedError(f"the default {text} of the parameter {parameter.name}")
        return self._torch.new_optional(word) if parameter.optional else word


def _loaded(variant: Path) -> ctypes.CDLL:
    try:
        return ctypes.CDLL(str(variant), mode=os.RTLD_NOW | os.RTLD_LOCAL)
    except OSError as err:
        fix = "`rocmatrix audit PATH --json` lists the libraries and symbols that it asks for."
        raise InputError(f"the loader does not take it: {err}", where=variant.name, fix=fix) from err


def _scalar(kind: str, value: Array) -> int | None:
    """Return a scalar as it travels on a stack; ``None`` if the schema's type is no scalar of numbers."""
    if kind in {"int", "SymInt", "bool"}:
        return int(value.item()) & ((1 << 64) - 1)
    if kind == "float":
        return int(struct.unpack("<Q", struct.pack("<d", float(value.item())))[0])
    return None
