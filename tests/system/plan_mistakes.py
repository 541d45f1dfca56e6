"""Every mistake that people make in matrix.yaml and build.toml, each with what the message must say of it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.system.plan_processes import MANIFEST, MATRIX, make_project


@dataclass(frozen=True, kw_only=True)
class Mistake:
    """One mistake in one file.

    Attributes:
        kind: what it is, in the words of the list of mistakes that must be met.
        file: ``matrix.yaml`` or ``build.toml``.
        content: the file; ``b"<pipe>"`` and ``b"<folder>"`` stand for what is no file.
        where: how the message begins, after ``error: ``.
        found: what it must say was found.
        allowed: what it must say is allowed, or how it is spelled right.
    """

    kind: str
    file: str
    content: bytes
    where: str
    found: str
    allowed: str


def _matrix(kind: str, old: str, new: str, line: int, found: str, allowed: str) -> Mistake:  # noqa: PLR0917 - a row of a table
    assert MATRIX.count(old) >= 1, old
    content = MATRIX.replace(old, new, 1).encode(errors="surrogateescape")
    return Mistake(
        kind=kind, file="matrix.yaml", content=content, where=f"matrix.yaml:{line}: ", found=found, allowed=allowed
    )


def _manifest(kind: str, old: str, new: str, key: str, found: str, allowed: str) -> Mistake:  # noqa: PLR0917 - a row of a table
    assert MANIFEST.count(old) >= 1, old
    content = MANIFEST.replace(old, new, 1).encode(errors="surrogateescape")
    where = f"gemm/build.toml{key}" if key.startswith(":") else f"gemm/build.toml: {key}"
    return Mistake(kind=kind, file="build.toml", content=content, where=where, found=found, allowed=allowed)


def _whole(kind: str, file: str, content: bytes, where: str, found: str, allowed: str) -> Mistake:  # noqa: PLR0917 - a row of a table
    path = "matrix.yaml" if file == "matrix.yaml" else "gemm/build.toml"
    return Mistake(kind=kind, file=file, content=content, where=path + where, found=found, allowed=allowed)


def _bomb() -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    return "\n".join(lines)


HOMOGLYPH = "\u043e"
"""A Cyrillic letter that looks like a Latin o."""

ESCAPE = "\x1b[31mred\x1b[0m"
COMMAND = "::error file=x::pwned"
OLD_COMMAND = "##[error]pwned"
EXPRESSION = "${{ secrets.TOKEN }}"

_NOT_MINOR = "Versions are <major>.<minor>"
_QUOTES = "Put it in quotes to make it a string."

MISTAKES: tuple[Mistake, ...] = (
    _matrix(
        "old workflow commands",
        '"7.1": llvm',
        f'"7.1{OLD_COMMAND}": llvm',
        6,
        "toolchains.'7.1#\\x23[error]pwned': '7.1#\\x23[error]pwned' is not a ROCm minor",
        'such as "7.2"',
    ),
    _matrix(
        "expressions",
        '"7.1": llvm',
        f'"{EXPRESSION}": llvm',
        6,
        "toolchains.'$\\x7b{ secrets.TOKEN }}': ",
        'such as "7.2"',
    ),
    _matrix(
        "old workflow commands",
        "schema: 1",
        f'schema: 1\nexclude: [{{torch: "2.12", reason: "{OLD_COMMAND}"}}]',
        2,
        "exclude[0].reason: '#\\x23[error]pwned' has a workflow's command",
        "Say it in words",
    ),
    _matrix("unquoted 2.10", '"2.12"', "2.10", 3, "torch[0]: 2.10 without quotes is the number 2.1", 'Write "2.10".'),
    _manifest(
        "unquoted 2.10",
        '"2.10"',
        "2.10",
        "torch.minver: ",
        "2.10 without quotes is the number 2.1 to TOML",
        'Write "2.10".',
    ),
    _matrix("booleans of words", "[gemm]", "[no]", 2, "found true or false, 'no'", "Write - kernels/gemm"),
    _matrix(
        "booleans of words",
        "[gfx942]",
        "[yes]",
        5,
        "archs[0]: expected a string, found true or false",
        "Write e.g. gfx942.",
    ),
    _matrix("booleans of words", '"2.12"', "yes", 3, "torch[0]: expected a string, found true or false", 'e.g. "2.13"'),
    _matrix("dates of words", '"7.1"', "2026-01-01", 4, "rocm[0]: expected a string, found a date", 'e.g. "2.13"'),
    _manifest("booleans", '"2.10"', "true", "torch.minver: ", "found true or false, 'true'", 'e.g. "2.11"'),
    _manifest(
        "unquoted 2.10",
        '"2.10"',
        '"2.9"\nstable-abi = 2.10',
        "torch.stable-abi: ",
        "the number 2.1 to",
        'Write "2.10".',
    ),
    _matrix("wrong types", "[gfx942]", "{gfx942: 1}", 5, "archs: expected a list, found a mapping", "e.g. [gfx942]"),
    _matrix("wrong types", "schema: 1", "schema: 01", 1, "schema: '01' is not a whole number", "Write schema: 1"),
    _matrix(
        "aliases that explode", "[gemm]", "&k [*k]", 2, "the alias 'k' stands within the value of its own", "Write the"
    ),
    _manifest("booleans", '"Apache-2.0"', "true", "general.license: ", "found true or false, 'true'", _QUOTES),
    _matrix("dates of words", "[gemm]", "[2026-01-01]", 2, "found a date, '2026-01-01'", "Write - kernels/gemm"),
    _manifest("dates", '"gemm"', "2026-01-01", "general.name: ", "found a date, '2026-01-01'", _QUOTES),
    _matrix("duplicate keys", "rocm:", "torch:", 4, "the key 'torch' is there twice", "the first is at matrix.yaml:3."),
    _manifest(
        "duplicate keys",
        "version = 1",
        "version = 1\nversion = 2",
        ":4: ",
        "the key 'version' is there twice",
        "Remove one",
    ),
    _manifest(
        "duplicate keys",
        "[torch]",
        "[torch]\nsrc = [\n  'a',\n]",
        ":13: ",
        "the key 'src' is there twice",
        "Remove one",
    ),
    _manifest(
        "duplicate keys",
        "[torch]",
        '[torch]\nstable-abi = {rocm = "2.10", rocm = "2.11"}',
        ":10: ",
        "the key 'rocm' is there twice",
        "Remove one",
    ),
    _manifest("duplicate tables", "[torch]", "[torch]\n[[torch]]", ":10: ", "the table '[[torch]]' is there", "Remove"),
    _manifest(
        "huge numbers",
        "version = 1",
        f"version = {'9' * 10_000}",
        ":3: ",
        "a number has thousands of digits",
        "the numbers of this file are small",
    ),
    _manifest(
        "huge numbers",
        "edition = 5",
        f"edition = {'9' * 100}",
        "general.edition: ",
        f"'{'9' * 60}'... (100 characters) is not a whole number",
        "",
    ),
    _manifest(
        "duplicate tables",
        "[torch]",
        "[general]\n[torch]",
        ":9: ",
        "the table '[general]' is there twice",
        "Remove one",
    ),
    _whole(
        "aliases that explode", "matrix.yaml", _bomb().encode(), ":", "more than 100000 values", "Use fewer aliases"
    ),
    _matrix("unknown keys", "archs:", "arch:", 5, "unknown key 'arch' in the file", "Did you mean archs?"),
    _manifest("unknown keys", "minver", "minvers", "", "unknown key 'minvers' in torch", "Did you mean minver?"),
    _matrix("wrong types", '["2.12", "2.13"]', '"2.12"', 3, "torch: expected a list, found string '2.12'", ""),
    _matrix("wrong types", "schema: 1", "schema: '1'", 1, "schema: expected a whole number, found string '1'", ""),
    _manifest("wrong types", "version = 1", 'version = "1"', "general.version: ", "found string '1'", "whole number"),
    _manifest("wrong types", '["gemm.hip"]', '"gemm.hip"', "kernel.gemm.src: ", "found string 'gemm.hip'", "a list"),
    _matrix("non-UTF-8", "[gemm]", "[\udcff]", 2, "the file is not UTF-8: byte 0xff", "Save the file as UTF-8."),
    _manifest("non-UTF-8", "Apache", "\udcff", ":5: ", "the file is not UTF-8: byte 0xff", "Save the file as UTF-8."),
    _whole(
        "UTF-16", "matrix.yaml", MATRIX.encode("utf-16"), ":1: ", "the file is not UTF-8", "Save the file as UTF-8."
    ),
    _whole(
        "UTF-16", "build.toml", MANIFEST.encode("utf-16"), ":1: ", "the file is not UTF-8", "Save the file as UTF-8."
    ),
    _matrix("NUL", "[gemm]", "[ge\0mm]", 2, "the file contains a NUL character", "Remove it."),
    _manifest("NUL", "Apache", "Apa\0che", ":5: ", "the file contains a NUL character", "Remove it."),
    *(
        _whole(
            f"{words} files",
            file,
            b"x" * size,
            ": ",
            f"the file is larger than {most} bytes",
            "Check that this is the file",
        )
        for words, size in (("10 MB", 10 << 20), ("3 MB", 3 << 20), ("2 MB", 2_000_000))
        for file, most in (("matrix.yaml", 262144), ("build.toml", 1048576))
    ),
    _whole("named pipes", "matrix.yaml", b"<pipe>", ": ", "this is not a regular file", "Name the file itself."),
    _whole("named pipes", "build.toml", b"<pipe>", ": ", "this is not a regular file", "Name the file itself."),
    _whole(
        "directories",
        "matrix.yaml",
        b"<folder>",
        ": ",
        "this is a folder and not a regular file",
        "Name the file itself.",
    ),
    _whole(
        "directories",
        "build.toml",
        b"<folder>",
        ": ",
        "this is a folder and not a regular file",
        "Name the file itself.",
    ),
    _matrix(
        "python tags", "[gemm]", "!!python/object/apply:os.system [ls]", 2, "the tag 'tag:yaml.org", "Remove the tag."
    ),
    _matrix("deep nesting", "[gemm]", "[" * 5000, 2, "nested more than 16 deep", "Nothing here needs that depth."),
    _manifest(
        "deep nesting",
        '["rocm"]',
        "[" * 40 + "]" * 40,
        "general.backends[0][0]",
        "nested more than 16 deep",
        "Nothing here needs",
    ),
    _manifest(
        "deep nesting", '["rocm"]', "[" * 5000, ":6: ", "nested more than 16 deep", "Nothing here needs that depth."
    ),
    _manifest(
        "deep keys", "[torch]", f"[a{'.a' * 50000}]\n[torch]", "", "a key has more than 16 parts", "Nothing here"
    ),
    _matrix("homoglyphs", "rocm:", f"r{HOMOGLYPH}cm:", 4, "unknown key 'r\\u043ecm' in the file", "Did you mean rocm?"),
    _matrix("homoglyphs", "[gfx942]", "[g\u0444x942]", 5, "'g\\u0444x942' is not a gfx arch", "Write e.g. gfx942."),
    _manifest(
        "homoglyphs", '["rocm"]', f'["r{HOMOGLYPH}cm"]', "general.backends[0]: ", "'r\\u043ecm'", "Did you mean rocm?"
    ),
    _manifest("homoglyphs", "[torch]", f'["t{HOMOGLYPH}rch"]', "", "unknown key 't\\u043erch'", "Did you mean torch?"),
    _matrix("escape characters", "[gfx942]", '["\\e[31mred"]', 5, "'\\x1b[31mred' is not a gfx arch", "gfx942"),
    _matrix("control characters", "[gemm]", f"[{ESCAPE}]", 2, "the character '\\x1b' is not allowed", "Remove it"),
    _manifest(
        "escape characters", '"gemm"', '"\\u001b[31m"', "general.name: ", "'\\x1b[31m' is not a name", "my-kernel"
    ),
    _manifest(
        "control characters", '"gemm"', f'"{ESCAPE}"', ":2: ", "Illegal character '\\\\x1b'", "Correct the line."
    ),
    _matrix("right-to-left marks", "[gfx942]", '["\\u202egfx"]', 5, "'\\u202egfx' is not a gfx arch", "gfx942"),
    _matrix("workflow commands", "[gfx942]", f'["{COMMAND}"]', 5, f"'{COMMAND}' is not a gfx arch", "gfx942"),
    _matrix("workflow commands", "[gfx942]", f'["x\\n{COMMAND}"]', 5, f"'x\\n{COMMAND}' is not a gfx arch", "gfx942"),
    _matrix("workflow commands", "archs:", f'"{COMMAND}":', 5, f"unknown key '{COMMAND}'", "Allowed: schema"),
    _matrix("old workflow commands", "[gfx942]", f'["{OLD_COMMAND}"]', 5, "'#\\x23[error]pwned' is not", "gfx942"),
    _manifest(
        "workflow commands", '"gemm"', f'"{COMMAND}"', "general.name: ", f"'{COMMAND}' is not a name", "my-kernel"
    ),
    _manifest("workflow commands", "[torch]", f'["{COMMAND}"]', "", f"unknown key '{COMMAND}'", "Allowed: general"),
    _manifest(
        "old workflow commands", '"rocm"]', f'"{OLD_COMMAND}"]', "general.backends[0]", "'#\\x23[error]", "Allowed"
    ),
    _matrix(
        "expressions", "[gfx942]", f'["{EXPRESSION}"]', 5, "'$\\x7b{ secrets.TOKEN }}' is not a gfx arch", "gfx942"
    ),
    _matrix(
        "expressions", "[gemm]", f'["{EXPRESSION}"]', 2, "'$\\x7b{ secrets.TOKEN }}' is not a path", "kernels/gemm"
    ),
    _manifest("expressions", '"gemm"', f'"{EXPRESSION}"', "general.name: ", "'$\\x7b{ secrets.TOKEN }}'", "my-kernel"),
    _manifest(
        "expressions",
        "[kernel.gemm]",
        '[kernel.gemm]\nhip-flags = ["-D${{ x }}"]',
        "kernel.gemm.hip-flags[0]: ",
        "'-D$\\x7b{ x }}' has a workflow's command or expression",
        "Remove it",
    ),
    _manifest(
        "workflow commands",
        "[kernel.gemm]",
        '[kernel.gemm]\nhip-flags = ["-O3", "::error::z"]',
        "kernel.gemm.hip-flags[1]: ",
        "'::error::z' has a workflow's command or expression",
        "Remove it",
    ),
    _manifest(
        "escape characters",
        '"Apache-2.0"',
        '"\\u001b[31m ${{ x }}\\n::error::"',
        "general.license: ",
        "'\\x1b[31m $\\x7b{ x }}\\n::error::' has characters that do not print",
        "Remove them",
    ),
    _matrix("shell characters", "[gemm]", '["$(id);rm -rf x"]', 2, "'$(id);rm -rf x' is not a path", "kernels/gemm"),
    _matrix("shell characters", '"7.2": llvm', '"7.2": "`id`"', 6, "the toolchain '`id`' is not known", "llvm, hipcc"),
    _manifest("shell characters", '"gemm"', '"a;b"', "general.name: ", "'a;b' is not a name", "my-kernel"),
    _manifest(
        "shell characters", "[kernel.gemm]", '[kernel."a;b"]', "kernel.'a;b': ", "id of the section", "it names files"
    ),
    _manifest(
        "shell characters", '"gemm.hip"', '"$(id).hip"', "kernel.gemm.src[0]: ", "'$(id).hip'", "Use letters, digits"
    ),
    _matrix("versions with local labels", '"2.12"', '"2.12+rocm7.1"', 3, "'2.12+rocm7.1' is not", 'Write "2.12".'),
    _matrix(
        "versions with patch levels", '"7.2"', '"7.2.4"', 4, f"'7.2.4' is not a minor version\n  {_NOT_MINOR}", '"7.2"'
    ),
    _manifest("versions with local labels", '"2.10"', '"2.10+rocm7.1"', "torch.minver: ", "'2.10+rocm7.1'", '"2.11"'),
    _matrix("negative numbers", "schema: 1", "schema: -1", 1, "schema: '-1' is not a whole number from 0 on", ""),
    _matrix("negative numbers", '"2.12"', "-2.12", 3, "torch[0]: '-2.12' is a number", "Write a version in quotes"),
    _matrix("negative numbers", '"2.12"', '"-2.12"', 3, "'-2.12' is not a minor version", _NOT_MINOR),
    _manifest(
        "negative numbers", "version = 1", "version = -1", "general.version: ", "'-1' is not a whole number", "0 on"
    ),
    *(
        _manifest(
            "long names",
            '"gemm"',
            f'"{"a" * length}"',
            "general.name: ",
            f"({length} characters) is too long",
            "At most 100 characters",
        )
        for length in (101, 100_000)
    ),
    _whole("empty files", "matrix.yaml", b"", ": ", "the file is empty", "Write it, or give the right file."),
    _whole("empty files", "build.toml", b"", ": ", "the file is empty", "Write it, or give the right file."),
    _whole("files of spaces", "matrix.yaml", b" \n\n# x\n", ": ", "the file is empty", "Write it"),
    _manifest(
        "paths that leave", '"gemm.hip"', '"../gemm.hip"', "kernel.gemm.src[0]: ", "leaves the project", "relative"
    ),
    _manifest(
        "absolute paths", '"gemm.hip"', '"/etc/passwd"', "kernel.gemm.src[0]: ", "leaves the project", "relative"
    ),
    _manifest(
        "globbed paths", '"gemm.hip"', '"*.hip"', "kernel.gemm.src[0]: ", "'*.hip' is not a path", "not expanded"
    ),
    _manifest(
        "repeated paths", '"gemm.hip"', '"gemm.hip", "./gemm.hip"', "kernel.gemm.src[1]: ", "is named twice", "Remove"
    ),
    _manifest(
        "case-differing paths", '"gemm.hip"', '"gemm.hip", "GEMM.hip"', "kernel.gemm.src[1]", "case only", "rename"
    ),
    _manifest("missing sources", '"gemm.hip"', '"gem.hip"', "kernel.gemm.src[0]: ", "is not there", "mean 'gemm.hip'?"),
    _manifest(
        "linked sources", '"gemm.hip"', '"link.hip"', "kernel.gemm.src[0]: ", "is a symbolic link", "Put the file"
    ),
    _manifest(
        "bounds that leave nothing",
        '"2.10"',
        '"2.14"\nmaxver = "2.11"',
        "torch.minver: ",
        "'2.14' is higher than torch.maxver, '2.11'",
        "Correct one of the two",
    ),
    _manifest("unknown archs", '"gfx942"', '"gfx924"', "kernel.gemm.rocm-archs[0]: ", "no processor", "mean gfx942?"),
    _matrix(
        "missing kernels", "[gemm]", "[gem]", 2, "there is no folder 'gem': 'gem/build.toml' is", "Did you mean 'gemm'?"
    ),
    _matrix(
        "missing kernels", "[gemm]", "[gemm/torch-ext]", 2, "the folder 'gemm/torch-ext' has no build.toml", "A kernel"
    ),
    _matrix("unknown archs", "[gfx942]", "[gfx924]", 5, "ROCm is not known to target 'gfx924'", "Did you mean gfx942?"),
)


def make_mistake(mistake: Mistake, folder: Path) -> None:
    """Make a project in which one file has the mistake."""
    if mistake.file == "matrix.yaml":
        make_project(folder, matrix=mistake.content)
    else:
        make_project(folder, manifest=mistake.content)
