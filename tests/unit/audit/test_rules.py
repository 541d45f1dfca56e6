"""The first rules over facts: each accepts the good variant and names what is wrong with a changed one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocmatrix.audit.facts import Expectation, OpsFacts, Unreadable, VariantFacts, outcome
from rocmatrix.audit.policy import load_policy
from rocmatrix.audit.rules import judge
from rocmatrix.binary.facts import Bundle, VersionNeed
from rocmatrix.plan.model import Abi
from rocmatrix.records import Outcome, Severity
from tests.unit.audit.samples import (
    EXPECTED,
    EXTENSION,
    FILES,
    GOOD,
    GOOD_BINARY,
    GOOD_ELF,
    METADATA,
    SO,
    code,
    exported,
    undefined,
    variant_file,
    with_codes,
    with_elf,
)

COLLECTED = replace(EXPECTED, files=None)


def findings(facts: VariantFacts, expected: Expectation = EXPECTED) -> list[tuple[str, Severity, str]]:
    return [(found.rule, found.severity, found.what) for found in judge(facts, expected, load_policy())]


def the_error(facts: VariantFacts, expected: Expectation = EXPECTED) -> tuple[str, str]:
    """Return rule and text of the only finding, which must be an error."""
    ((rule, severity, what),) = findings(facts, expected)
    assert severity is Severity.ERROR
    return rule, what


def the_warning(facts: VariantFacts, expected: Expectation = EXPECTED) -> tuple[str, str]:
    ((rule, severity, what),) = findings(facts, expected)
    assert severity is Severity.WARNING
    return rule, what


def test_a_good_payload_has_no_findings() -> None:
    assert findings(GOOD) == []


def test_a_good_collected_variant_has_no_findings() -> None:
    assert findings(replace(GOOD, metadata=METADATA), COLLECTED) == []


def test_any_error_fails_an_audit_and_warnings_do_not() -> None:
    warning = judge(with_codes([code(), code("gfx950")], [code()]), EXPECTED, load_policy())
    error = judge(with_codes([code("gfx950")]), EXPECTED, load_policy())
    assert warning
    assert outcome(()) is outcome(warning) is Outcome.PASSED
    assert outcome(warning + error) is Outcome.FAILED


class TestArchs:
    def test_a_promised_arch_that_is_not_in_the_bundle(self) -> None:
        rule, what = the_error(GOOD, replace(EXPECTED, archs=("gfx942", "gfx950")))
        assert rule == "archs"
        assert "gfx950 was promised" in what

    def test_a_promised_arch_that_only_one_of_two_bundles_has(self) -> None:
        facts = with_codes([code(), code("gfx950")], [code()])
        assert "1 of 2 offload bundles" in the_error(facts, replace(EXPECTED, archs=("gfx942", "gfx950")))[1]

    def test_no_bundle_at_all(self) -> None:
        assert "no offload bundle" in the_error(with_codes())[1]

    def test_an_arch_that_nobody_promised(self) -> None:
        assert "nobody promised" in the_error(with_codes([code(), code("gfx950")]))[1]

    def test_an_unpromised_arch_that_only_some_bundles_have_is_a_warning(self) -> None:
        assert "only some" in the_warning(with_codes([code(), code("gfx950")], [code()]))[1]

    def test_code_for_one_setting_of_xnack_does_not_keep_the_promise(self) -> None:
        assert "gfx942 was promised" in the_error(with_codes([code("gfx942", "xnack+")]))[1]

    def test_code_for_both_settings_of_xnack_keeps_the_promise(self) -> None:
        assert findings(with_codes([code("gfx942", "xnack+"), code("gfx942", "xnack-")])) == []

    def test_a_code_object_whose_flags_name_another_arch(self) -> None:
        assert "own ELF flags say gfx90a" in the_error(with_codes([code(elf_arch="gfx90a")]))[1]

    def test_a_code_object_whose_flags_pin_a_feature_that_the_entry_does_not(self) -> None:
        assert "own ELF flags say xnack+" in the_error(with_codes([code(elf_features=("xnack+",))]))[1]

    def test_a_code_object_that_cannot_be_loaded(self) -> None:
        assert "cannot be loaded: it is empty" in the_error(with_codes([code(problem="it is empty")]))[1]

    def test_an_entry_that_names_no_gpu_is_a_warning(self) -> None:
        other = replace(code(), entry="hip-spirv64-amd-amdhsa--amdgcnspirv", arch=None)
        assert "names no AMD GPU" in the_warning(with_codes([code(), other]))[1]

    @pytest.mark.parametrize(("certain", "severity"), [(True, Severity.ERROR), (False, Severity.WARNING)])
    def test_a_bundle_that_cannot_be_read(self, certain: bool, severity: Severity) -> None:  # noqa: FBT001 - a parameter
        bundles = (*GOOD_BINARY.bundles, Bundle(offset=8192, problem="it is compressed", certain=certain))
        facts = replace(GOOD, binaries=(replace(GOOD_BINARY, bundles=bundles),))
        assert findings(facts) == [("archs", severity, "an offload bundle cannot be read: it is compressed")]

    def test_code_objects_without_a_bundle_serve_the_archs_of_their_flags(self) -> None:
        alone = tuple(replace(code(arch), entry="", arch=None) for arch in ("gfx942", "gfx950"))
        facts = replace(GOOD, binaries=(replace(GOOD_BINARY, bundles=(), code_objects=alone),))
        assert findings(facts, replace(EXPECTED, archs=("gfx942", "gfx950"))) == []
        assert "gfx90a was promised" in the_error(facts, replace(EXPECTED, archs=("gfx90a", "gfx942", "gfx950")))[1]

    def test_a_code_object_without_a_bundle_that_cannot_be_loaded_is_a_warning(self) -> None:
        alone = (replace(code(), entry="", arch=None, problem="it is cut off"),)
        facts = replace(GOOD, binaries=(replace(GOOD_BINARY, code_objects=alone),))
        assert "cannot be loaded: it is cut off" in the_warning(facts)[1]

    def test_metadata_that_lists_an_arch_that_is_not_there(self) -> None:
        facts = replace(GOOD, metadata=replace(METADATA, archs=("gfx942", "gfx950")))
        assert the_error(facts, COLLECTED) == ("archs", "metadata.json lists gfx950, but the binary has no code for it")

    def test_metadata_that_lacks_an_arch_that_is_there(self) -> None:
        facts = replace(GOOD, metadata=replace(METADATA, archs=()))
        assert "metadata.json does not list it" in the_error(facts, COLLECTED)[1]


class TestVersionCeilings:
    @pytest.mark.parametrize(
        "version",
        [
            "GLIBC_2.29",
            "GLIBCXX_3.4.25",
            "CXXABI_1.3.12",
            "GCC_7.0.1",
            "GCC_12.0.0",
            "GLIBC_PRIVATE",
            "GLIBC_ABI_DT_RELR",
            "CXXABI_ARM_1.3.3",
            "GLIBC_2.999999999999999999999",
            "GLIBC_2.0000000000000000000028",
        ],
    )
    def test_a_version_above_the_ceiling(self, version: str) -> None:
        facts = with_elf(
            symbols=(*GOOD_ELF.symbols, undefined("newer", version)),
            version_needs=(*GOOD_ELF.version_needs, VersionNeed(library="libx.so", version=version)),
        )
        rule, what = the_error(facts)
        assert rule == "version-ceilings"
        assert what.startswith(f"{version} is asked for")

    @pytest.mark.parametrize(
        "version",
        ["GLIBC_2.28", "GLIBCXX_3.4.24", "CXXABI_1.3.11", "GCC_7.0.0", "CXXABI_FLOAT128", "GLIBC_2.2.5", "hip_4.2"],
    )
    def test_a_version_at_the_ceiling_or_of_another_family(self, version: str) -> None:
        assert findings(with_elf(version_needs=(VersionNeed(library="libx.so", version=version),))) == []

    def test_the_symbols_that_ask_for_it_are_named(self) -> None:
        facts = with_elf(
            symbols=(*GOOD_ELF.symbols, undefined("arc4random", "GLIBC_2.36")),
            version_needs=(VersionNeed(library="libc.so.6", version="GLIBC_2.36"),),
        )
        assert judge(facts, EXPECTED, load_policy())[0].where == f"{SO}: arc4random"

    def test_a_need_that_no_symbol_uses_counts_all_the_same(self) -> None:
        assert the_error(with_elf(version_needs=(VersionNeed(library="libc.so.6", version="GLIBC_2.36"),)))


class TestNeeded:
    def test_another_rocm(self) -> None:
        rule, what = the_error(with_elf(needed=("libamdhip64.so.6", "libc.so.6")))
        assert rule == "needed"
        assert "needs libamdhip64.so.6, but the HIP runtime of this ROCm is libamdhip64.so.7" in what

    def test_the_unversioned_name_of_the_runtime(self) -> None:
        assert "needs libamdhip64.so," in the_error(with_elf(needed=("libamdhip64.so",)))[1]

    def test_no_hip_runtime(self) -> None:
        assert "does not need libamdhip64.so.7" in the_error(with_elf(needed=("libc.so.6",)))[1]

    @pytest.mark.parametrize(
        "name", ["libz.so.1", "libtorch.so.2.6", "libc10.so.2.6", "./libtorch.so", "libc.so.60", ""]
    )
    def test_a_library_that_users_do_not_have(self, name: str) -> None:
        assert "which users do not get with torch" in the_error(with_elf(needed=(*GOOD_ELF.needed, name)))[1]

    def test_a_rocm_library_of_torch_is_a_warning(self) -> None:
        rule, what = the_warning(with_elf(needed=(*GOOD_ELF.needed, "libhipblaslt.so.1")))
        assert rule == "needed"
        assert "its number for this ROCm is not known here" in what

    def test_gpu_code_without_a_runtime_is_a_warning_where_the_rocm_is_unknown(self) -> None:
        assert "no HIP runtime" in the_warning(with_elf(needed=("libc.so.6",)), replace(EXPECTED, hip_soname=None))[1]


class TestRunpath:
    @pytest.mark.parametrize("value", ["/opt/rocm/lib", "$ORIGIN", ""])
    @pytest.mark.parametrize("tag", ["rpath", "runpath"])
    def test_a_search_path_of_any_kind(self, tag: str, value: str) -> None:
        rule, what = the_error(with_elf(**{tag: value}))
        assert rule == "runpath"
        assert repr(value) in what


class TestAbi3:
    @pytest.mark.parametrize(
        "symbol", ["PyUnicode_AsUTF8AndSize", "_PyObject_GetDictPtr", "PyEval_SetProfile", "PyErr_SetFromWindowsErr"]
    )
    def test_a_symbol_outside_of_the_stable_abi(self, symbol: str) -> None:
        rule, what = the_error(with_elf(symbols=(*GOOD_ELF.symbols, undefined(symbol))))
        assert rule == "abi3"
        assert what == f"{symbol} is not in the stable ABI of Python 3.9"

    @pytest.mark.parametrize("symbol", ["PyModule_Create2", "_Py_Dealloc", "PyExc_RuntimeError", "aoti_Py"])
    def test_a_symbol_of_the_stable_abi_or_of_others(self, symbol: str) -> None:
        assert findings(with_elf(symbols=(*GOOD_ELF.symbols, undefined(symbol)))) == []

    def test_a_second_export_is_an_error_in_what_we_build(self) -> None:
        rule, what = the_error(with_elf(symbols=(*GOOD_ELF.symbols, exported("gemm_kernel"))))
        assert rule == "abi3"
        assert what == f"it exports more than PyInit_{EXTENSION}: gemm_kernel"

    def test_a_second_export_is_a_warning_elsewhere(self) -> None:
        facts = replace(with_elf(symbols=(*GOOD_ELF.symbols, exported("gemm_kernel"))), metadata=METADATA)
        assert "gemm_kernel" in the_warning(facts, COLLECTED)[1]

    def test_an_entry_of_another_name(self) -> None:
        facts = with_elf(symbols=(exported("PyInit__gemm_rocm_00000000"),))
        whats = [what for _, _, what in findings(facts)]
        assert f"PyInit_{EXTENSION} is not exported: Python cannot import it" in whats

    def test_a_name_for_one_python_only(self) -> None:
        path = f"{EXTENSION}.cpython-311-x86_64-linux-gnu.so"
        facts = replace(GOOD, binaries=(replace(GOOD_BINARY, path=path),))
        assert any(rule == "abi3" and "not *.abi3.so" in what for rule, _, what in findings(facts))


class TestNames:
    def test_a_kernel_whose_uid_is_another_one(self) -> None:
        whats = [what for _, _, what in findings(GOOD, replace(EXPECTED, extension="_gemm_rocm_ffffffff"))]
        assert any("the one extension module must be _gemm_rocm_ffffffff.abi3.so; found" in what for what in whats)
        assert any("_ops.py does not import _gemm_rocm_ffffffff" in what for what in whats)

    def test_a_second_shared_object(self) -> None:
        other = replace(GOOD_BINARY, path="sub/_gemm_rocm_0123abcd.abi3.so")
        assert "the one extension module must be" in the_error(replace(GOOD, binaries=(GOOD_BINARY, other)))[1]

    @pytest.mark.parametrize("namespaces", [("_gemm_rocm_ffffffff",), (EXTENSION, "gemm")])
    def test_ops_of_another_namespace(self, namespaces: tuple[str, ...]) -> None:
        facts = replace(GOOD, ops=OpsFacts(imports=(EXTENSION,), namespaces=namespaces))
        rule, what = the_error(facts)
        assert rule == "names"
        assert "namespace" in what

    def test_ops_that_import_a_second_extension(self) -> None:
        facts = replace(GOOD, ops=OpsFacts(imports=(EXTENSION, "_gemm_rocm_ffffffff"), namespaces=()))
        assert "_ops.py imports _gemm_rocm_ffffffff" in the_error(facts)[1]

    def test_no_ops(self) -> None:
        assert the_error(replace(GOOD, ops=None)) == ("names", "there is no _ops.py")

    def test_no_package(self) -> None:
        files = tuple(file for file in FILES if file.path != "__init__.py")
        recorded = tuple(file for file in EXPECTED.files or () if file.path != "__init__.py")
        found = the_error(replace(GOOD, files=files), replace(EXPECTED, files=recorded))
        assert found == ("names", "there is no __init__.py: nothing can be imported")

    @pytest.mark.parametrize("name", ["Gemm", "fp8_gemm", "g", "-gemm", "gemm-", "gemm\n", "gémm"])
    def test_a_kernel_name_that_the_client_refuses(self, name: str) -> None:
        facts = replace(GOOD, metadata=replace(METADATA, name=name))
        assert "the client refuses" in the_error(facts, replace(COLLECTED, name=name))[1]

    @pytest.mark.parametrize("variant", ["torch213-rocm72", "rocm72", "torch-stable-abi210-cxx11-rocm72-x86_64-linux"])
    def test_a_variant_name_that_the_client_does_not_know(self, variant: str) -> None:
        assert "does not know a ROCm variant" in the_error(GOOD, replace(EXPECTED, variant=variant))[1]

    def test_metadata_of_another_kernel(self) -> None:
        facts = replace(GOOD, metadata=replace(METADATA, name="relu", id="_relu_rocm_0123abcd"))
        whats = [what for _, _, what in findings(facts)]
        assert whats[:2] == [
            "metadata.json calls the kernel 'relu', but it is 'gemm'",
            f"metadata.json says '_relu_rocm_0123abcd', but the extension is '{EXTENSION}'",
        ]

    def test_a_variant_without_metadata_that_is_no_payload_of_ours(self) -> None:
        assert "there is no metadata.json" in the_error(GOOD, COLLECTED)[1]

    def test_a_link_out_of_the_directory(self) -> None:
        assert "not a regular file of this directory" in the_error(replace(GOOD, strays=("secret.py",)))[1]

    def test_a_name_that_is_not_utf8(self) -> None:
        refused = (Unreadable(path="\\udcff.py", what="\\udcff.py: the name is not UTF-8"),)
        assert "the name is not UTF-8" in the_error(replace(GOOD, refused=refused))[1]

    def test_compiled_code_in_a_noarch_unit(self) -> None:
        noarch = replace(EXPECTED, abi=Abi.NOARCH, variant="torch-rocm", archs=(), extension=None, hip_soname=None)
        whats = [what for _, _, what in findings(GOOD, noarch)]
        assert any("compiled code in a variant that promises to have none" in what for what in whats)


class TestDigests:
    def test_a_file_with_other_bytes_than_the_build_recorded(self) -> None:
        files = (variant_file("__init__.py", b"tampered"), *FILES[1:])
        rule, what = the_error(replace(GOOD, files=files))
        assert rule == "digests"
        assert what == "__init__.py does not have the bytes that build.json speaks of"

    def test_a_file_that_the_build_did_not_record(self) -> None:
        assert (
            "does not know the file stray.py" in the_error(replace(GOOD, files=(*FILES, variant_file("stray.py"))))[1]
        )

    def test_a_file_that_is_gone(self) -> None:
        assert "which is not there" in the_error(replace(GOOD, files=FILES[:-1]))[1]

    def test_metadata_that_vouches_for_other_bytes(self) -> None:
        facts = replace(GOOD, metadata=replace(METADATA, digests={**METADATA.digests, SO: "other"}))
        assert the_error(facts, COLLECTED)[1] == f"{SO} does not have the bytes that metadata.json speaks of"

    @pytest.mark.parametrize("algorithm", [None, "md5"])
    def test_metadata_without_a_digest_that_the_client_knows(self, algorithm: str | None) -> None:
        facts = replace(GOOD, metadata=replace(METADATA, algorithm=algorithm))
        assert the_error(facts, COLLECTED)[0] == "digests"


def test_a_file_that_cannot_be_read_is_an_error_and_not_also_a_missing_arch() -> None:
    facts = replace(GOOD, binaries=(), unreadable=(Unreadable(path=SO, what="this is not an ELF file"),))
    rule, what = the_error(facts)
    assert rule == "readable"
    assert what == f"{SO} cannot be audited: this is not an ELF file"
