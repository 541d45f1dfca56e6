"""Which keys a JSON Schema knows, and whether an example uses them."""

from collections.abc import Iterator
from typing import Any

Path = tuple[str, ...]
"""Names of keys; ``[]`` stands for any item of a list, ``*`` for any key of the author's own choice."""


def key_paths(schema: dict[str, Any], root: dict[str, Any], path: Path = ()) -> Iterator[Path]:
    """Yield the path of every key that a schema knows, references followed."""
    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rpartition("/")[2]]
    for name, inside in schema.get("properties", {}).items():
        yield (*path, name)
        yield from key_paths(inside, root, (*path, name))
    if isinstance(inside := schema.get("additionalProperties"), dict):
        yield from key_paths(inside, root, (*path, "*"))
    if isinstance(inside := schema.get("items"), dict):
        yield from key_paths(inside, root, (*path, "[]"))
    for inside in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
        yield from key_paths(inside, root, path)


def uses(value: Any, path: Path) -> bool:
    """Return whether a value has a key."""
    if not path:
        return True
    if path[0] == "[]":
        return isinstance(value, list) and any(uses(item, path[1:]) for item in value)
    if not isinstance(value, dict):
        return False
    if path[0] == "*":
        return any(uses(item, path[1:]) for item in value.values())
    return path[0] in value and uses(value[path[0]], path[1:])
