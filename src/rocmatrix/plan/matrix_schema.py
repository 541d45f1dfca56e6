"""The JSON Schema of matrix.yaml, for editors: completion, and red lines while one types.

What a schema can say is said; what needs more than one value (duplicates, kernels that exist, pairs that were
published) only the planner says. ``python -m rocmatrix.plan.matrix_schema`` writes the file that is shipped beside this
module; a test compares the two, and the schema with the parser.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path

from rocmatrix.document import to_json
from rocmatrix.plan.matrix_audit import audit_schema
from rocmatrix.plan.matrix_fields import (
    ARCH_PATTERN,
    ARGUMENT_PATTERN,
    CELL_PATTERN,
    IMAGE_PATTERN,
    LABEL_PATTERN,
    MOST_VALUES,
    PATH_CHARACTERS,
    REPO_ID_PATTERN,
)
from rocmatrix.plan.matrix_model import ISOLATIONS, MATRIX_SCHEMA, RECIPES, AbiChoice
from rocmatrix.plan.version import MINOR_PATTERN

FILE = "matrix.schema.json"

_Schema = dict[str, object]

_PATH = rf"^(?!/)(?!(.*/)?\.\.(/|$))({PATH_CHARACTERS}|/)+$"


def matrix_schema() -> _Schema:
    """Return the JSON Schema (2020-12) of matrix.yaml."""
    minors = _list({"$ref": "#/$defs/minor"}, "Minor versions, each in quotes.")
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "matrix.yaml of rocmatrix",
        **_mapping(
            {
                "schema": {"const": MATRIX_SCHEMA, "description": "Version of this file's format."},
                "kernels": _list({"$ref": "#/$defs/kernel"}, "The kernel projects, folders with a build.toml."),
                "torch": {**minors, "description": "Torch minors that users will have, each in quotes."},
                "rocm": {**minors, "description": "ROCm minors as torch.version.hip says them, each in quotes."},
                "archs": {"$ref": "#/$defs/archs"},
                "abi": {"$ref": "#/$defs/abi"},
                "include": {"type": "array", "items": {"$ref": "#/$defs/include"}},
                "exclude": {"type": "array", "items": {"$ref": "#/$defs/exclude"}},
                "toolchains": {
                    "type": "object",
                    "description": "Which toolchain builds for which ROCm minor.",
                    "propertyNames": {"pattern": f"^{MINOR_PATTERN}$"},
                    "additionalProperties": {"$ref": "#/$defs/toolchain"},
                },
                "check": _mapping({"runner": _runner(), "images": _images()}, ()),
                "release": _mapping({"allow-toolchains": _allow_toolchains(), "isolation": _isolation()}, ()),
            },
            ("schema", "kernels", "torch", "rocm", "archs"),
        ),
        "$defs": _definitions(),
    }


def shipped_schema() -> bytes:
    """Return the text of the schema that comes with this rocmatrix."""
    return files("rocmatrix.plan").joinpath(FILE).read_bytes()


def _definitions() -> _Schema:
    minor: _Schema = {"type": "string", "pattern": f"^{MINOR_PATTERN}$"}
    archs = _list({"type": "string", "pattern": f"^{ARCH_PATTERN}$"}, "gfx archs, e.g. gfx942.")
    path: _Schema = {"type": "string", "pattern": _PATH, "description": "Folder relative to this file."}
    recipe: _Schema = {
        "type": "string",
        "anyOf": [{"enum": list(RECIPES)}, {"pattern": r"^\./", "$ref": "#/$defs/path"}],
        "description": "A recipe of rocmatrix, or ./path to a recipe of your own.",
    }
    ref = {name: {"$ref": f"#/$defs/{name}"} for name in ("minor", "archs", "path", "recipe", "abi")}
    place = {"torch": ref["minor"], "rocm": ref["minor"], "archs": ref["archs"], "kernel": _text()}
    repo_id = {"type": "string", "pattern": f"^{REPO_ID_PATTERN}$", "description": "Repository on the Hub."}
    entry = {"path": ref["path"], "repo-id": repo_id, "archs": ref["archs"], "abi": ref["abi"], "audit": audit_schema()}
    args = {
        "type": "object",
        "propertyNames": {"pattern": f"^{ARGUMENT_PATTERN}$"},
        "additionalProperties": _text(),
        "description": "Build arguments of the recipe.",
    }
    return {
        "minor": minor,
        "archs": archs,
        "path": path,
        "recipe": recipe,
        "abi": {"enum": [choice.value for choice in AbiChoice], "description": "What the binaries are bound to."},
        "kernel": {"anyOf": [ref["path"], _mapping(entry, ("path",))]},
        "include": _mapping(place, ("torch", "rocm")),
        "exclude": {
            **_mapping({**place, "reason": _text()}, ()),
            "anyOf": [{"required": [name]} for name in place],
        },
        "toolchain": {"anyOf": [ref["recipe"], _mapping({"recipe": ref["recipe"], "args": args}, ("recipe",))]},
    }


def _mapping(keys: Mapping[str, object], required: tuple[str, ...]) -> _Schema:
    made: _Schema = {"type": "object", "additionalProperties": False, "properties": dict(keys)}
    return {**made, "required": list(required)} if required else made


def _list(items: _Schema, description: str) -> _Schema:
    limits: _Schema = {"minItems": 1, "maxItems": MOST_VALUES, "uniqueItems": True}
    return {"type": "array", "items": items, **limits, "description": description}


def _text() -> _Schema:
    return {"type": "string", "minLength": 1}


def _runner() -> _Schema:
    label: _Schema = {"type": "string", "pattern": f"^{LABEL_PATTERN}$"}
    labels: _Schema = {"type": "array", "items": label, "minItems": 1}
    return {"anyOf": [label, labels], "description": "Labels of the GitHub runner with a GPU."}


def _images() -> _Schema:
    return {
        "type": "object",
        "description": "Images with a torch that GPU checks run in, by torch and ROCm, e.g. torch2.13-rocm7.2.",
        "propertyNames": {"pattern": f"^{CELL_PATTERN}$"},
        "additionalProperties": {"type": "string", "pattern": f"^{IMAGE_PATTERN}$"},
    }


def _allow_toolchains() -> _Schema:
    items: _Schema = {"$ref": "#/$defs/recipe"}
    description = "Recipes whose output may be released."
    return {"type": "array", "items": items, "uniqueItems": True, "description": description}


def _isolation() -> _Schema:
    return {"enum": list(ISOLATIONS), "description": "The least isolation of a build that may be released."}


if __name__ == "__main__":
    Path(__file__).with_name(FILE).write_bytes(to_json(matrix_schema()))
