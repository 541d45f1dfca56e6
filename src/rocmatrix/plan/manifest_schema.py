"""The JSON Schema of build.toml, edition 5, for editors that know TOML schemas.

It says what rocmatrix takes, which is what the official parser takes except for paths, ids and versions that rocmatrix
is stricter about. ``python -m rocmatrix.plan.manifest_schema`` writes the file that is shipped beside this module;
tests compare the two, and the schema with the parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from rocmatrix.document import to_json
from rocmatrix.plan import manifest_keys as names
from rocmatrix.plan.manifest_editions import CURRENT, FRAMEWORKS
from rocmatrix.plan.manifest_fields import ARCH, KERNEL_NAME, LARGEST_MAJOR, LONGEST_NAME, SECTION_ID, SUFFIX
from rocmatrix.plan.matrix_fields import REPO_ID_PATTERN
from rocmatrix.plan.version import MINOR_PATTERN

FILE = "manifest.schema.json"

_Schema = dict[str, object]

_PATH = r"^(?!/)(?!(.*/)?\.\.(/|$))[A-Za-z0-9_.+@=/-]+$"

_DESCRIPTIONS = {
    "name": "Name of the kernel, with dashes; its Python module has underscores.",
    "version": "Major version: the number of the branch on the Hub.",
    "edition": "Edition of this file's format.",
    "license": "Id of the licence; metadata.json repeats it.",
    "backends": "What the kernel is for.",
    "upstream": "Where the kernel comes from, the URL of a git repository.",
    "source": "Where this project is, the URL of a git repository.",
    "src": "Source files and headers, each by its name.",
    "include": "Folders with headers.",
    "pyext": "Suffixes of the Python files and data of the package, without dot.",
    "minver": "Lowest version that is served.",
    "maxver": "Highest version that is served.",
    "stable-abi": "Level of torch's stable ABI, for all backends or for each.",
    "rocm-archs": "gfx archs to build for; without the key those of matrix.yaml.",
    "depends": "What the section is compiled against.",
}


def manifest_schema() -> _Schema:
    """Return the JSON Schema (2020-12) of build.toml."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "build.toml of kernel-builder, edition 5, as rocmatrix reads it",
        **_table(
            {
                "general": _general(),
                "torch": _table(_keys(names.TORCH)),
                "torch-noarch": _table(_keys(names.NOARCH)),
                "tvm-ffi": _table(_keys(names.TVM_FFI), ("src",)),
                "kernel": {
                    "type": "object",
                    "propertyNames": {"pattern": f"^{SECTION_ID.pattern}$"},
                    "additionalProperties": {"oneOf": [_section(backend) for backend in names.KERNEL_EXTRA]},
                },
            },
            ("general",),
        ),
        "oneOf": [{"required": [framework]} for framework in FRAMEWORKS],
    }


def shipped_schema() -> bytes:
    """Return the text of the schema that comes with this rocmatrix."""
    return files("rocmatrix.plan").joinpath(FILE).read_bytes()


def _general() -> _Schema:
    keys = _keys((*names.GENERAL, "edition", "kernel-depends"))
    keys |= {name: _table(_keys(inside)) for name, inside in names.GENERAL_TABLES.items()}
    return _table(keys, ("name", "version", "edition", "license", "backends"))


def _section(backend: str) -> _Schema:
    keys = _keys((*names.KERNEL, *names.KERNEL_EXTRA[backend]))
    if backend != "rocm":  # only what rocmatrix builds has to be files that it can name
        keys |= {name: _strings() for name in ("src", "include")}
    return _table({**keys, "backend": {"const": backend}}, ("backend", "depends", "src"))


def _keys(wanted: tuple[str, ...]) -> dict[str, object]:
    return {name: _described(name, _value(name)) for name in wanted}


def _described(name: str, value: _Schema) -> _Schema:
    return {**value, "description": _DESCRIPTIONS[name]} if name in _DESCRIPTIONS else value


def _value(name: str) -> _Schema:
    version: _Schema = {"type": "string", "pattern": f"^{MINOR_PATTERN}$"}
    paths: _Schema = {"type": "array", "items": {"type": "string", "pattern": _PATH}}
    values: dict[str, _Schema] = {
        "name": {"type": "string", "pattern": f"^{KERNEL_NAME.pattern}$", "maxLength": LONGEST_NAME},
        "version": {"type": "integer", "minimum": 0, "maximum": LARGEST_MAJOR},
        "edition": {"const": CURRENT},
        "license": {"type": "string", "minLength": 1},
        "upstream": {"type": "string", "minLength": 1},
        "source": {"type": "string", "minLength": 1},
        "backends": {"type": "array", "items": {"enum": list(names.BACKENDS)}},
        "hub": _table({"repo-id": {"type": "string", "pattern": f"^{REPO_ID_PATTERN}$"}, "branch": {"type": "string"}}),
        "depends": {"type": "array", "items": {"enum": list(names.DEPENDS)}},
        "kernel-depends": {"type": "array", "items": _kernel_dependency()},
        "pyext": _strings(SUFFIX.pattern),
        "rocm-archs": _strings(ARCH.pattern),
        "rocm_archs": _strings(ARCH.pattern),
        "src": {**paths, "uniqueItems": True},
        "include": paths,
        "minver": version,
        "maxver": version,
        "cuda-minver": version,
        "stable-abi": {"anyOf": [version, _table(dict.fromkeys(names.BACKENDS, version))]},
    }
    return values.get(name, _strings())


def _kernel_dependency() -> _Schema:
    keys = {"repo-id": {"type": "string"}, "version": {"type": "integer", "minimum": 0}, "revision": {"type": "string"}}
    return {**_table(keys, ("repo-id",)), "oneOf": [{"required": ["version"]}, {"required": ["revision"]}]}


def _strings(pattern: str | None = None) -> _Schema:
    one: _Schema = {"pattern": f"^{pattern}$"} if pattern else {"minLength": 1}
    return {"type": "array", "items": {"type": "string", **one}}


def _table(keys: Mapping[str, object], required: tuple[str, ...] = ()) -> _Schema:
    made: _Schema = {"type": "object", "additionalProperties": False, "properties": dict(keys)}
    return {**made, "required": list(required)} if required else made


if __name__ == "__main__":
    Path(__file__).with_name(FILE).write_bytes(to_json(manifest_schema()))
