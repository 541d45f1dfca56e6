"""Reader of Python sources: what they import, which ops they name and which Python they need; nothing is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from rocmatrix.audit.content_facts import Fp8Flavour, PythonFile, SourceLine

MAX_SOURCE = 1 << 18
"""Bytes of one source that are read at most."""
MAX_LINES = 100
"""Lines of each kind that are kept of one source."""

_LIBRARY = {
    "custom_op",
    "triton_op",
    "register_kernel",
    "register_fake",
    "register_vmap",
    "register_torch_dispatch",
    "register_autograd",
    "opcheck",
}
"""Functions of ``torch.library`` whose first argument names an op; kernel-builder's own check has the first six."""
_FP8 = {
    "float8_e4m3fnuz": Fp8Flavour.FNUZ,
    "float8_e5m2fnuz": Fp8Flavour.FNUZ,
    "float8_e4m3fn": Fp8Flavour.OCP,
    "float8_e5m2": Fp8Flavour.OCP,
}


def read_python(path: Path, name: str, *, python: str) -> PythonFile:
    """Return what a source says.

    Args:
        path: the file.
        name: how it is called in the result.
        python: lowest Python that must read it, e.g. ``3.9``.
    """
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_SOURCE + 1)
    except OSError as err:
        return PythonFile(path=name, problem=f"it cannot be read: {err.strerror}")
    if len(text) > MAX_SOURCE:
        return PythonFile(path=name, problem=f"it is larger than {MAX_SOURCE} bytes")
    try:
        tree = ast.parse(text)
    except SyntaxError as err:
        return PythonFile(path=name, problem=f"it is not Python that this interpreter reads (line {err.lineno or 1})")
    except (ValueError, RecursionError, MemoryError):
        return PythonFile(path=name, problem="it is not Python")
    try:
        nodes = list(ast.walk(tree))
        return PythonFile(
            path=name,
            newer=_kept([*_syntax(text, python), *_unions(tree, python)]),
            absolute=_kept(_absolute(nodes)),
            namespaces=_kept(_namespaces(nodes)),
            registered=_kept(_registered(nodes)),
            fp8=frozenset(_FP8[node.attr] for node in nodes if isinstance(node, ast.Attribute) and node.attr in _FP8),
        )
    except (RecursionError, ValueError):
        return PythonFile(path=name, problem="it is nested deeper than anybody writes")


def _kept(lines: Iterator[SourceLine] | list[SourceLine]) -> tuple[SourceLine, ...]:
    return tuple(sorted(set(lines), key=lambda found: (found.line, found.text))[:MAX_LINES])


def _syntax(text: bytes, python: str) -> list[SourceLine]:
    """Return the first place that the grammar of the lowest Python refuses."""
    major, minor = python.split(".")
    try:
        ast.parse(text, feature_version=(int(major), int(minor)))
    except SyntaxError as err:
        return [SourceLine(line=err.lineno or 1, text=str(err.msg))]
    return []


def _unions(tree: ast.Module, python: str) -> Iterator[SourceLine]:
    """Give annotations with ``X | None`` that are evaluated: an error before Python 3.10 (PEP 604)."""
    if tuple(map(int, python.split("."))) >= (3, 10) or _postponed(tree):
        return
    for node in ast.walk(tree):
        for annotation in _annotations(node):
            for part in ast.walk(annotation):
                if isinstance(part, ast.BinOp) and isinstance(part.op, ast.BitOr) and _is_none(part):
                    yield SourceLine(line=part.lineno, text=f"the annotation {ast.unparse(part)[:60]}")


def _is_none(union: ast.BinOp) -> bool:
    return any(isinstance(side, ast.Constant) and side.value is None for side in (union.left, union.right))


def _postponed(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.ImportFrom)
        and node.module == "__future__"
        and any(alias.name == "annotations" for alias in node.names)
        for node in tree.body
    )


def _annotations(node: ast.AST) -> Iterator[ast.expr]:
    """Give the annotations of a node that Python evaluates; those of local variables it does not."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        arguments = node.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument]
        yield from (argument.annotation for argument in every if argument.annotation)
        if node.returns:
            yield node.returns
    if isinstance(node, ast.Module | ast.ClassDef):
        yield from (item.annotation for item in node.body if isinstance(item, ast.AnnAssign))


def _absolute(nodes: list[ast.AST]) -> Iterator[SourceLine]:
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (SourceLine(line=node.lineno, text=alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            yield SourceLine(line=node.lineno, text=node.module)


def _namespaces(nodes: list[ast.AST]) -> Iterator[SourceLine]:
    for node in nodes:
        match node:
            case ast.Attribute(value=ast.Attribute(value=ast.Name(id="torch"), attr="ops"), attr=namespace):
                yield SourceLine(line=node.lineno, text=namespace)


def _registered(nodes: list[ast.AST]) -> Iterator[SourceLine]:
    """Give the names that ``torch.library.*`` gets as written-out texts, in decorators and calls."""
    for node in nodes:
        if not isinstance(node, ast.Call) or not node.args:
            continue
        called, first = node.func, node.args[0]
        name = called.attr if isinstance(called, ast.Attribute) else called.id if isinstance(called, ast.Name) else ""
        if name in _LIBRARY and (text := _written_out(first)):
            yield SourceLine(line=node.lineno, text=text[:100])


def _written_out(name: ast.expr) -> str:
    """Return the part of a name that stands in the source; of ``f"gemm::{op}"`` that is ``gemm::``."""
    parts = name.values if isinstance(name, ast.JoinedStr) else [name]
    first = parts[0].value if parts and isinstance(parts[0], ast.Constant) else ""
    return first if isinstance(first, str) and (parts == [name] or "::" in first) else ""
