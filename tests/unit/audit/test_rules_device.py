"""Rules about what runs on GPUs and on the torch around it: FP8 flavour, torch's ABI, C++ runtime, hardening."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from rocmatrix.audit.content_facts import Contents, Fp8Flavour, PythonFile
from rocmatrix.audit.facts import Expectation, TorchAnswer, VariantFacts
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.rules import judge
from rocmatrix.audit.rules.fp8 import flavours_in
from rocmatrix.audit.rules.torch_abi import asks_of_torch
from rocmatrix.binary.facts import Bundle, CxxRuntime, CxxSigns, DynamicSymbol, Relro
from rocmatrix.binary.kernel_facts import InstructionMix, Kernel
from rocmatrix.plan.model import Abi
from rocmatrix.records import Severity
from tests.unit.audit.samples import EXPECTED, GOOD, GOOD_BINARY, GOOD_ELF, SO, code, undefined, with_elf

ERROR, WARNING, NOTE = Severity.ERROR, Severity.WARNING, Severity.NOTE
FNUZ, OCP = Fp8Flavour.FNUZ, Fp8Flavour.OCP
MFMA_FP8, MFMA_BF16 = "v_mfma_f32_16x16x32_fp8_fp8", "v_mfma_f32_16x16x16_bf16"


def found(facts: VariantFacts, expected: Expectation = EXPECTED) -> list[tuple[str, Severity, str]]:
    return [(one.rule, one.severity, one.what) for one in judge(facts, expected, load_policy())]


def mix(**matrix: int) -> InstructionMix:
    return InstructionMix(
        matrix=matrix, valu=1, salu=1, lds=1, vmem=1, smem=1, barriers=1, waits=1, branches=1, other=1
    )


def kernel(name: str, instructions: InstructionMix | None) -> Kernel:
    return Kernel(
        name=name,
        symbol=f"{name}.kd",
        vgprs=8,
        agprs=0,
        sgprs=8,
        vgpr_spills=0,
        sgpr_spills=0,
        lds=0,
        scratch=0,
        dynamic_stack=False,
        max_workgroup=256,
        required_workgroup=None,
        wavefront=64,
        kernarg_size=8,
        kernarg_align=8,
        arguments=(),
        instructions=instructions,
    )


def with_kernels(arch: str, *kernels: Kernel, **more: Any) -> VariantFacts:
    bundles = (Bundle(offset=4096, code_objects=(code(arch, kernels=kernels),)),)
    return replace(GOOD, binaries=(replace(GOOD_BINARY, bundles=bundles),), **more)


class TestFp8Flavour:
    @pytest.mark.parametrize(
        ("name", "flavours"),
        [
            ("_Z4gemmPK19__hip_fp8_e4m3_fnuzS1_Pf", {FNUZ}),
            ("_Z4gemmPK14__hip_fp8_e4m3S1_Pf", {OCP}),
            ("_Z4castPK14__hip_fp8_e4m3P19__hip_fp8_e4m3_fnuz", {FNUZ, OCP}),
            ("_Z4gemmPKN3c1015Float8_e4m3fnuzE", {FNUZ}),
            ("_Z4gemmPKN3c1013Float8_e4m3fnE", {OCP}),
            ("_Z4gemmPKh", set()),
        ],
    )
    def test_names_of_types_are_read_out_of_mangled_names(self, name: str, flavours: set[Fp8Flavour]) -> None:
        assert flavours_in(name, load_policy()) == flavours

    @pytest.mark.parametrize(
        ("arch", "type_name", "own"), [("gfx942", "__hip_fp8_e4m3", FNUZ), ("gfx950", "Float8_e4m3fnuz", OCP)]
    )
    def test_a_kernel_of_the_other_flavour_that_uses_matrix_instructions(
        self, arch: str, type_name: str, own: Fp8Flavour
    ) -> None:
        facts = with_kernels(arch, kernel(f"_Z1kPK{type_name}", mix(**{MFMA_FP8: 4})))
        ((rule, severity, what),) = found(facts, replace(EXPECTED, archs=(arch,)))
        assert (rule, severity) == ("fp8-flavour", ERROR)
        assert f"matrix instructions of {arch} read {own} FP8" in what

    def test_the_same_kernel_whose_code_was_not_read_is_a_warning(self) -> None:
        facts = with_kernels("gfx942", kernel("_Z1kPK14__hip_fp8_e4m3", None))
        assert [one[:2] for one in found(facts)] == [("fp8-flavour", WARNING)]

    @pytest.mark.parametrize(
        ("name", "matrix"),
        [
            ("_Z1kPK14__hip_fp8_e4m3", {MFMA_BF16: 4}),  # converts in software
            ("_Z1kPK19__hip_fp8_e4m3_fnuz", {MFMA_FP8: 4}),
            ("_Z1kPK14__hip_fp8_e4m3P19__hip_fp8_e4m3_fnuz", {MFMA_FP8: 4}),  # may convert
            ("_Z1kPKh", {MFMA_FP8: 4}),
        ],
    )
    def test_a_kernel_that_says_nothing_wrong(self, name: str, matrix: dict[str, int]) -> None:
        assert found(with_kernels("gfx942", kernel(name, mix(**matrix)))) == []

    def test_an_arch_without_fp8_has_no_flavour(self) -> None:
        facts = with_kernels("gfx1100", kernel("_Z1kPK14__hip_fp8_e4m3", None))
        assert found(facts, replace(EXPECTED, archs=("gfx1100",))) == []

    @pytest.mark.parametrize(
        ("contents", "where"),
        [
            (Contents(host_fp8=((SO, frozenset({OCP})),)), SO),
            (Contents(python=(PythonFile(path="__init__.py", fp8=frozenset({OCP})),)), "__init__.py"),
        ],
    )
    def test_a_binding_that_names_the_other_flavour_only(self, contents: Contents, where: str) -> None:
        facts = with_kernels("gfx942", kernel("k", mix(**{MFMA_FP8: 4})), contents=contents)
        (finding,) = judge(facts, EXPECTED, load_policy())
        assert (finding.rule, finding.severity, finding.where) == ("fp8-flavour", ERROR, where)
        assert "torch.float8_e4m3fnuz" in finding.fix

    def test_a_binding_that_asks_torch_for_one_dtype_of_the_other_flavour(self) -> None:
        facts = with_kernels("gfx942", kernel("k", mix(**{MFMA_FP8: 4})))
        symbols = (*GOOD_ELF.symbols, undefined("aoti_torch_dtype_float8_e4m3fn"))
        facts = replace(facts, binaries=(replace(facts.binaries[0], elf=replace(GOOD_ELF, symbols=symbols)),))
        assert [one[:2] for one in found(facts)] == [("fp8-flavour", ERROR)]

    @pytest.mark.parametrize(
        ("flavours", "matrix"),
        [({FNUZ}, MFMA_FP8), ({FNUZ, OCP}, MFMA_FP8), ({OCP}, MFMA_BF16), (set(), MFMA_FP8)],
    )
    def test_a_binding_that_says_nothing_wrong(self, flavours: set[Fp8Flavour], matrix: str) -> None:
        contents = Contents(python=(PythonFile(path="__init__.py", fp8=frozenset(flavours)),))
        assert found(with_kernels("gfx942", kernel("k", mix(**{matrix: 4})), contents=contents)) == []


class TestTorchAbi:
    def test_a_function_of_a_later_torch_than_the_level(self) -> None:
        facts = with_elf(symbols=(*GOOD_ELF.symbols, undefined("torch_from_blob")))
        ((rule, severity, what),) = found(facts)
        assert (rule, severity) == ("torch-abi", ERROR)
        assert what == "torch_from_blob came with torch 2.11, but the variant promises to run on torch 2.10"
        assert found(facts, replace(EXPECTED, torch="2.11")) == []

    def test_of_functions_from_before_the_lists_nothing_is_claimed(self) -> None:
        facts = with_elf(symbols=(*GOOD_ELF.symbols, undefined("aoti_torch_get_dim")))
        assert found(facts, replace(EXPECTED, torch="2.8")) == []

    def test_a_function_that_no_torch_declares(self) -> None:
        facts = with_elf(symbols=(*GOOD_ELF.symbols, undefined("aoti_torch_made_up")))
        ((_, severity, what),) = found(facts)
        assert (severity, what) == (ERROR, "no torch up to 2.14 declares aoti_torch_made_up")

    def test_a_weak_symbol_is_a_warning(self) -> None:
        weak = DynamicSymbol(name="torch_from_blob", defined=False, version=None, weak=True)
        ((_, severity, what),) = found(with_elf(symbols=(*GOOD_ELF.symbols, weak)))
        assert severity is WARNING
        assert "the loader goes on without it" in what

    def test_a_level_beyond_the_lists_is_unverifiable_and_said(self) -> None:
        facts = with_elf(symbols=(*GOOD_ELF.symbols, undefined("torch_of_the_future")))
        ((_, severity, what),) = found(facts, replace(EXPECTED, torch="2.99"))
        assert severity is NOTE
        assert what.startswith("unverifiable: ")

    @pytest.mark.parametrize(
        "symbol",
        [
            "_ZN3c105ErrorC1ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
            "_ZNK2at6Tensor3dimEv",
            "_ZTIN3c105ErrorE",
            "_ZTVN5torch3nn6ModuleE",
            "_ZN5torch7LibraryC1ENS0_4KindE",
            "_ZN6caffe28TypeMetaE",
            "_ZThn16_N2at10FunctionalD0Ev",
            "THPVariableClass",
            "_Z16THPVariable_WrapN2at10TensorBaseE",
        ],
    )
    def test_a_symbol_of_torchs_inner_namespaces(self, symbol: str) -> None:
        ((rule, severity, what),) = found(with_elf(symbols=(*GOOD_ELF.symbols, undefined(symbol))))
        assert (rule, severity) == ("torch-abi", ERROR)
        assert symbol in what

    @pytest.mark.parametrize(
        "symbol",
        [
            "_ZN5torch6stable6TensorC1Ev",
            "_ZNSt6vectorIiE4sizeEv",
            "_ZN4mine2at3fooEv",
            "_ZTVN4mine1AIN2at6TensorEEE",
            "torchy",
        ],
    )
    def test_a_symbol_that_is_none_of_them(self, symbol: str) -> None:
        assert found(with_elf(symbols=(*GOOD_ELF.symbols, undefined(symbol)))) == []

    def test_what_a_binary_defines_itself_it_does_not_ask_for(self) -> None:
        assert not asks_of_torch(DynamicSymbol(name="_ZN3c105Error", defined=True, version=None))


PER_TORCH = replace(EXPECTED, abi=Abi.PER_TORCH, torch="2.13", variant="torch213-cxx11-rocm72-x86_64-linux")
BOUND = with_elf(symbols=(*GOOD_ELF.symbols, undefined("_ZNK2at6Tensor3dimEv")))


class TestTorchSymbols:
    def test_without_a_torch_it_is_unverifiable_and_said(self) -> None:
        ((rule, severity, what),) = found(BOUND, PER_TORCH)
        assert (rule, severity) == ("torch-symbols", NOTE)
        assert what.startswith("unverifiable: whether torch 2.13 for ROCm 7.2 has the 1 symbols")

    def test_a_torch_that_could_not_be_read_says_why(self) -> None:
        facts = replace(BOUND, torch=TorchAnswer(version="2.13.0", unread="its server is gone"))
        ((_, severity, what),) = found(facts, PER_TORCH)
        assert severity is NOTE
        assert what.endswith("its server is gone")

    def test_a_torch_that_lacks_a_symbol(self) -> None:
        lacking = ((SO, "_ZNK2at6Tensor3dimEv"),)
        answer = TorchAnswer(version="2.13.0+rocm7.2", libraries=("libc10.so",), lacking=lacking)
        ((rule, severity, what),) = found(replace(BOUND, torch=answer), PER_TORCH)
        assert (rule, severity) == ("torch-symbols", ERROR)
        assert what == "torch 2.13.0+rocm7.2 does not have _ZNK2at6Tensor3dimEv"

    def test_a_torch_that_has_all_of_them(self) -> None:
        answer = TorchAnswer(version="2.13.0+rocm7.2", libraries=("libc10.so",))
        assert found(replace(BOUND, torch=answer), PER_TORCH) == []

    def test_a_binary_that_asks_torch_for_nothing(self) -> None:
        assert found(GOOD, PER_TORCH) == []

    def test_a_stable_binary_needs_no_torch(self) -> None:
        assert found(with_elf(symbols=(*GOOD_ELF.symbols, undefined("aoti_torch_get_dim")))) == []


class TestCxxRuntime:
    @pytest.mark.parametrize(
        "signs",
        [
            CxxSigns(defined=("__cxa_throw",), symbol_table=True),
            CxxSigns(inside=(CxxRuntime.LIBCXXABI,)),
            CxxSigns(inside=(CxxRuntime.LIBCXX, CxxRuntime.LIBUNWIND)),
        ],
    )
    def test_a_runtime_of_its_own(self, signs: CxxSigns) -> None:
        ((rule, severity, what),) = found(with_elf(cxx=signs))
        assert (rule, severity) == ("cxx-runtime", ERROR)
        assert "ends the process" in what

    @pytest.mark.parametrize(
        "signs",
        [
            CxxSigns(),
            CxxSigns(inside=(CxxRuntime.LIBCXX,), undefined=("__cxa_throw",)),
            CxxSigns(inside=(CxxRuntime.LIBCXXABI,), undefined=("__cxa_throw",)),
            CxxSigns(undefined=("__cxa_throw", "_Unwind_Resume")),
        ],
    )
    def test_the_runtime_of_the_system(self, signs: CxxSigns) -> None:
        assert found(with_elf(cxx=signs)) == []


class TestHardening:
    @pytest.mark.parametrize(
        ("changes", "severity", "what"),
        [
            ({"executable_stack": True}, ERROR, "stacks of the whole process executable"),
            ({"text_relocations": True}, ERROR, "write into its code"),
            ({"relro": Relro.NONE}, WARNING, "no RELRO"),
        ],
    )
    def test_what_makes_memory_writable_and_executable(
        self, changes: dict[str, Any], severity: Severity, what: str
    ) -> None:
        ((rule, found_severity, found_what),) = found(with_elf(**changes))
        assert (rule, found_severity) == ("hardening", severity)
        assert what in found_what

    def test_partial_relro_is_enough(self) -> None:
        assert found(with_elf(relro=Relro.PARTIAL)) == []
