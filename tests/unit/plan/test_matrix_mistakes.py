"""Every mistake in a matrix.yaml gets one message: the line, what was found, what is allowed."""

import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rocmatrix.errors import ExitCode, InputError
from rocmatrix.plan.matrix import parse_matrix
from tests.unit.plan.samples import MATRIX


def message_of(content: bytes) -> str:
    with pytest.raises(InputError) as caught:
        parse_matrix(content, "matrix.yaml")
    assert caught.value.exit_code == ExitCode.INPUT
    return str(caught.value)


def complaint(content: bytes) -> str:
    """Return the message of the input error, ``""`` for a good file; every other exception is a failure."""
    try:
        parse_matrix(content, "matrix.yaml")
    except InputError as err:
        return str(err)
    return ""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            '"2.12"',
            "2.10",
            '4: torch[0]: 2.10 without quotes is the number 2.1 to YAML, not a version\n  Write "2.10".',
        ),
        ('"2.12"', "2.12", "4: torch[0]: 2.12 without quotes is a number to YAML, and 2.10 would become 2.1"),
        ('"2.12"', "2", "4: torch[0]: '2' is a number, not a version\n  Write a version in quotes"),
        ('"2.12"', "-2.1", "4: torch[0]: '-2.1' is a number"),
        ('"2.12"', '"2.12.1"', "'2.12.1' is not a minor version\n  Versions are <major>.<minor>"),
        ('"2.12"', '"2.12.1"', 'Write "2.12".'),
        ('"2.12"', '"2.12+rocm7.1"', 'Write "2.12".'),
        ('"2.12"', '"-2.1"', "'-2.1' is not a minor version"),
        ('"2.12"', '"2.012"', "'2.012' is not a minor version"),
        ('"2.12"', '"2.1\u0662"', "'2.1\\u0662' is not a minor version"),
        ('"2.12"', '"2.13"', "torch[1]: '2.13' is named twice\n  Remove one; the first is at matrix.yaml:4."),
        ('["2.12", "2.13"]', "[]", "4: torch: is an empty list"),
        ('["2.12", "2.13"]', '"2.12"', "4: torch: expected a list, found string '2.12'"),
        ('["2.12", "2.13"]', "", "4: torch: expected a list, found nothing"),
        ("[gfx942]", "[942]", "6: archs[0]: expected a string, found a whole number, '942'\n  Write e.g. gfx942."),
        ("[gfx942]", "[gfx94]", "'gfx94' is not a gfx arch"),
        ("[gfx942]", "[GFX942]", "'GFX942' is not a gfx arch\n  Write gfx942."),
        ("[gfx942]", '["gfx942:xnack+"]', "Write gfx942: features such as xnack belong into the kernel's hip-flags."),
        ("archs:", "arch:", "6: unknown key 'arch' in the file\n  Did you mean archs?"),
        ("rocm:", "r\u043ecm:", "5: unknown key 'r\\u043ecm' in the file\n  Did you mean rocm?"),
        ("rocm:", "torch:", "5: the key 'torch' is there twice\n  Remove one; the first is at matrix.yaml:4."),
        ("schema: 1", "schema: 2", "2: schema: schema 2 is not known"),
        ("schema: 1", "schema: '1'", "2: schema: expected a whole number, found string '1'"),
        ("schema: 1", "schema: 0x1", "2: schema: '0x1' is not a whole number"),
        ("schema: 1", "schema: true", "2: schema: expected a whole number, found true or false, 'true'"),
        ("schema: 1\n", "", "lacks schema"),
        ("kernels: [gemm]", "kernels: []", "3: kernels: names no kernel"),
        ("[gemm]", "[gemm, ./gemm/]", "3: the kernel gemm is listed twice"),
        ("[gemm]", "[../gemm]", "'../gemm' is not a path that can be used here"),
        ("[gemm]", "[/gemm]", "'/gemm' is not a path"),
        ("[gemm]", '["a;rm -rf b"]', "'a;rm -rf b' is not a path"),
        ("[gemm]", '["a\\\\b"]', "'a\\\\b' is not a path"),
        ("[gemm]", "[{repo-id: a/b}]", "3: kernels[0]: lacks path"),
        ("[gemm]", "[{path: gemm, repo_id: a/b}]", "unknown key 'repo_id' in kernels[0]\n  Did you mean repo-id?"),
        ("[gemm]", "[{path: gemm, repo-id: gemm}]", "'gemm' is not a repository of the Hub"),
        ("[gemm]", "[{path: gemm, abi: Stable}]", "'Stable' is not known\n  Did you mean stable?"),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: need, reason: x}]}}]",
            "'need' is not known\n  Did you mean needed?",
        ),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: readable, reason: x}]}}]",
            "'readable' is not known\n  Allowed: archs,",
        ),
        ("[gemm]", "[{path: gemm, audit: {waive: [{rule: needed}]}}]", "kernels[0].audit.waive[0]: lacks reason"),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: needed, reason: ' '}]}}]",
            "waive[0].reason: must be 1 to 500 printable characters",
        ),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: needed, reason: x, why: y}]}}]",
            "unknown key 'why' in kernels[0].audit.waive[0]",
        ),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: needed, reason: x, variants: []}]}}]",
            "waive[0].variants: is an empty list",
        ),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: needed, reason: x, variants: [a/b]}]}}]",
            "'a/b' is not a pattern over names of variants",
        ),
        (
            "[gemm]",
            "[{path: gemm, audit: {waive: [{rule: needed, reason: x}, {rule: needed, reason: y}]}}]",
            "waives needed a second time\n  Remove one; the first is at matrix.yaml:3.",
        ),
        ("[gemm]", "[{path: gemm, audit: {max-file-mb: 0}}]", "'0' is not a whole number from 1 on"),
        ("[gemm]", "[{path: gemm, audit: {max-file-mb: 2 MB}}]", "expected a whole number, found string '2 MB'"),
        ("[gemm]", "[{path: gemm, audit: {waiver: []}}]", "unknown key 'waiver' in kernels[0].audit"),
        ("[gemm]", "[no]", "kernels[0]: expected a path or a mapping, found true or false, 'no'"),
        ("[gemm]", "[2026-01-01]", "expected a path or a mapping, found a date, '2026-01-01'"),
        ('"7.1": llvm', "7.1: llvm", "7: a key must be a string, found a number, '7.1'\n  Put it in quotes."),
        ('"7.1": llvm', "on: llvm", "7: a key must be a string, found true or false, 'on'"),
        ('"7.1": llvm', '"7.1.1": llvm', "'7.1.1' is not a ROCm minor"),
        ('"7.1": llvm', '"7.1": lvm', "the toolchain 'lvm' is not known\n  Did you mean llvm?"),
        ('"7.1": llvm', '"7.1": [llvm]', "expected a recipe or a mapping, found a list"),
        ('"7.1": llvm', '"7.1": "."', "a recipe needs a folder of its own"),
        ('"7.1": llvm', '"7.1": {recipe: hipcc, arg: {}}', "unknown key 'arg'"),
        ('"7.1": llvm', '"7.1": {recipe: hipcc, args: {A: 7.10}}', "args.A: expected a string, found a number, '7.10'"),
        ('"7.1": llvm', '"7.1": ./../x', "'./../x' is not a path"),
        ("schema: 1", "schema: 1\nabi: maybe", "'maybe' is not known\n  Allowed: auto, stable, per-torch."),
        ("schema: 1", "schema: 1\ncheck: {runer: a}", "Did you mean runner?"),
        ("schema: 1", 'schema: 1\ncheck: {runner: "a b"}', "'a b' is not a label of a runner"),
        ("schema: 1", "schema: 1\ncheck: {runner: []}", "names no label"),
        ("schema: 1", "schema: 1\ncheck: {images: {torch2.13: a}}", "'torch2.13' is not a torch and a ROCm"),
        ("schema: 1", 'schema: 1\ncheck: {images: {torch2.13-rocm7.2: "a b"}}', "'a b' is not the name of an image"),
        ("schema: 1", "schema: 1\ncheck: {images: {torch2.13-rocm7.2: 7}}", "expected a string, found a whole number"),
        ("schema: 1", "schema: 1\nrelease: {allow-toolchains: [docker]}", "the toolchain 'docker' is not known"),
        ("schema: 1", "schema: 1\nrelease: {isolation: none}", "'none' is not known"),
        (
            "schema: 1",
            'schema: 1\nexclude: [{torch: "2.12", reason: " "}]',
            "3: exclude[0].reason: must be 1 to 500 printable",
        ),
        (
            "schema: 1",
            'schema: 1\nexclude: [{torch: "2.12", reason: "\\u202e"}]',
            "printable characters, found '\\u202e'",
        ),
        ("schema: 1", 'schema: 1\nexclude: [{torch: "2.12", reason: "::error::x"}]', "has a workflow's command or"),
        ("schema: 1", 'schema: 1\nexclude: [{torch: "2.12", reason: "a ##[error]x"}]', "has a workflow's command or"),
        (
            "schema: 1",
            'schema: 1\nexclude: [{torch: "2.12", reason: "a ${{ x }}"}]',
            "'a $\\x7b{ x }}' has a workflow's",
        ),
        ('"7.1": llvm', '"7.1": {recipe: hipcc, args: {"A;B": x}}', "'A;B' is not the name of a build argument\n  Use"),
        ('"7.1": llvm', '"7.1": {recipe: hipcc, args: {A: "a\\nb"}}', "500 printable characters, found 'a\\nb'"),
        ('"7.1": llvm', '"7.1": {recipe: hipcc, args: {A: "${{ x }}"}}', "A: '$\\x7b{ x }}' has a workflow's command"),
        (
            "[gemm]",
            '[{path: gemm, audit: {waive: [{rule: needed, reason: x, match: "\\e[31m"}]}}]',
            "waive[0].match: '\\x1b[31m' has characters that do not print",
        ),
        (
            "[gemm]",
            '[{path: gemm, audit: {waive: [{rule: needed, reason: x, match: "::error::"}]}}]',
            "waive[0].match: '::error::' has a workflow's command",
        ),
        ("schema: 1", "schema: 1\nexclude: [{reason: x}]", "3: exclude[0]: excludes everything"),
        ("schema: 1", 'schema: 1\ninclude: [{torch: "2.12"}]', "3: include[0]: lacks rocm"),
        ("schema: 1", "schema: 1\ninclude: 3", "3: include: expected a list, found a whole number, '3'"),
        ("schema: 1", "schema: 1\n<<: {a: 1}", "unknown key '<<'"),
    ],
)
def test_the_message_has_line_finding_and_advice(old: str, new: str, message: str) -> None:
    assert old in MATRIX
    assert message in message_of(MATRIX.replace(old, new, 1).encode())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "matrix.yaml: the file is empty"),
        (b"# only a comment\n", "the file is empty"),
        (b"\xef\xbb\xbf", "the file is empty"),
        (b"schema: 1\nkernels: \xff\n", "matrix.yaml:2: the file is not UTF-8: byte 0xff"),
        ("schema: 1".encode("utf-16"), "the file is not UTF-8"),
        (b"schema: 1\n\0", "matrix.yaml:2: the file contains a NUL character"),
        (b"schema: \x1b[31m", "matrix.yaml:1: the character '\\x1b' is not allowed in YAML"),
        (b"[a,\nb\n", "matrix.yaml:3: this is not YAML"),
        (b"[a,\nb", "that begins in line 1"),
        (b"schema: 1\n\tkernels: []", "this is not YAML"),
        (b"schema: 1\n---\nschema: 1\n", "matrix.yaml:2: a second document begins here"),
        (b"- a", "expected a mapping, found a list"),
        (b"just words", "expected a mapping, found string 'just words'"),
        (b"schema: !!python/object/apply:os.system [ls]", "matrix.yaml:1: the tag 'tag:yaml.org,2002:python/object"),
        (b"schema: !!int 1", "the tag"),
        (b"schema: &a [*a]", "the alias 'a' stands within the value of its own anchor\n  Write the value itself"),
        (b"schema: *nope", "the alias 'nope' has no anchor"),
        (b"schema: " + b"[" * 100 + b"]" * 100, "nested more than 16 deep"),
        (b"schema: " + b"{a: " * 5000, "nested more than 16 deep"),
        (b"schema: " + b"[" * 200_000, "nest"),
        (b"a" * (1 << 18) + b"b", "the file is larger than 262144 bytes"),
        (b"? [a]\n: b", "a key must be a string, found a list"),
    ],
)
def test_a_file_that_is_no_configuration_at_all(content: bytes, message: str) -> None:
    assert message in message_of(content)


def test_aliases_that_explode_are_refused_at_once() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    started = time.monotonic()
    assert "more than 100000 values" in message_of("\n".join(lines).encode())
    assert time.monotonic() - started < 1


@pytest.mark.parametrize(
    "value",
    ["\\e[31mred", "::error::pwned", "##[error]pwned", "a\\nb", "\\u202eright-to-left", "x" * 10_000],
)
def test_values_from_the_file_are_never_printed_raw(value: str) -> None:
    message = message_of(MATRIX.replace("gfx942", f'"{value}"').encode())
    assert message.isascii()
    assert all(line.isprintable() for line in message.splitlines())
    assert not any(line.lstrip().startswith("::") for line in message.splitlines())
    assert "##[" not in message
    assert len(message) < 400


def test_an_axis_too_long_is_refused() -> None:
    versions = ", ".join(f'"2.{n}"' for n in range(1001))
    assert "has 1001 values; at most 1000" in message_of(MATRIX.replace('"2.12", "2.13"', versions).encode())


@settings(max_examples=120, deadline=None)
@given(content=st.binary(max_size=200))
@example(content=b"a: *\n")
@example(content=b"\xc2\x85")
@example(content=b"? : ?")
@example(content=b"%YAML 9.9\n---\n")
@example(content=b"!<")
@example(content=b"- =\n- <<")
def test_arbitrary_bytes_are_an_input_error_or_a_matrix(content: bytes) -> None:
    assert complaint(content).replace("\n", "").isprintable()


@settings(max_examples=120, deadline=None)
@given(data=st.data())
def test_a_good_matrix_with_bytes_changed_is_an_input_error_or_a_matrix(data: st.DataObject) -> None:
    content = bytearray(MATRIX.encode())
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(start + 12, len(content))))
        tokens = st.sampled_from(
            [b"&a ", b"*a", b"!!str ", b"? ", b": ", b"- ", b"[", b"}", b'"', b"\n", b"|\n", b"2.10"]
        )
        content[start:end] = data.draw(st.one_of(st.binary(max_size=6), tokens))
    assert complaint(bytes(content)).replace("\n", "").isprintable()
