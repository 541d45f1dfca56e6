"""Whether GitHub would run a workflow for the push of a tag: act runs it whatever its filters say.

Rules and patterns are those of GitHub's "Workflow syntax for GitHub Actions", ``on.<push>.<branches|tags>`` and "Filter
pattern cheat sheet": ``*`` matches no ``/``, ``?`` and ``+`` count the character before them, ``!`` takes away what
earlier patterns gave, the last pattern that matches decides, and who names branches alone runs for no tag.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import yaml

from rocmatrix.errors import InputError
from rocmatrix.plan.file_text import decode
from rocmatrix.plan.text import quote
from rocmatrix.plan.yaml_file import LARGEST_YAML

_LOADER = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
"""Texts alone: in YAML 1.1 the key ``on`` is a truth value, which GitHub reads as a text."""

_ELEMENT = re.compile(r"(?P<deep>\*\*)|(?P<any>\*)|\[(?P<set>[^\]]+)\]|\\(?P<escaped>.)|(?P<one>.)", re.DOTALL)
_IN_SET = re.compile(r"(?P<first>[A-Za-z0-9])-(?P<last>[A-Za-z0-9])|(?P<one>.)", re.DOTALL)
_TAGS, _NOT_TAGS, _BRANCHES = "tags", "tags-ignore", ("branches", "branches-ignore")


def require_triggered(content: bytes, where: str, tag: str) -> None:
    """Refuse what is no workflow, and a workflow that the push of a tag starts nothing of.

    Args:
        content: the workflow file.
        where: what it is called.
        tag: the tag that is pushed.

    Raises:
        InputError: it says why.
    """
    workflow = _read(content, where)
    events = workflow["on"]
    push = events.get("push") if isinstance(events, dict) else None
    named = events if isinstance(events, dict | list) else [events]
    if "push" not in named:
        raise _refused("it does not run for a push", where, tag)
    filters = push if isinstance(push, dict) else {}
    wanted, unwanted = _patterns(filters, _TAGS), _patterns(filters, _NOT_TAGS)
    if wanted is not None and unwanted is not None:
        raise _refused(f"on.push has both {_TAGS} and {_NOT_TAGS}", where, tag)
    if wanted is not None and not _matches(wanted, tag):
        raise _refused(f"on.push.{_TAGS} is {', '.join(map(quote, wanted)) or 'empty'}", where, tag)
    if unwanted is not None and _matches(unwanted, tag):
        raise _refused(f"on.push.{_NOT_TAGS} is {', '.join(map(quote, unwanted))}", where, tag)
    if wanted is None and unwanted is None and any(name in filters for name in _BRANCHES):
        raise _refused("on.push names branches, and no tags", where, tag)


def _read(content: bytes, where: str) -> dict[str, object]:
    """Return a workflow's keys.

    Raises:
        InputError: it is no text, not YAML, or lacks what every workflow has.
    """
    fix = "Correct the file, or name the workflow of .github/workflows that a tag starts."
    text = decode(content, where, largest=LARGEST_YAML)
    try:
        found: object = yaml.load(text, Loader=_LOADER)  # noqa: S506 - it makes texts, lists and mappings of them alone
    except yaml.MarkedYAMLError as err:
        line = f":{err.problem_mark.line + 1}" if err.problem_mark else ""
        problem = ascii(err.problem or "syntax error")[1:-1]
        raise InputError(f"this is not YAML: {problem}", where=where + line, fix=fix) from err
    except (yaml.YAMLError, RecursionError) as err:
        raise InputError("this is not YAML", where=where, fix=fix) from err
    keys = {str(key): value for key, value in found.items()} if isinstance(found, dict) else {}
    lacking = [key for key in ("on", "jobs") if not keys.get(key)]
    if lacking or not isinstance(keys["jobs"], dict):
        said = f"it has no {' and no '.join(lacking)}" if lacking else "its jobs are no mapping"
        raise InputError(f"this is no workflow: {said}", where=where, fix=fix)
    return keys


def _patterns(filters: dict[str, object], name: str) -> tuple[str, ...] | None:
    """Return the patterns of a filter; ``None`` where it is not there."""
    if name not in filters:
        return None
    patterns = filters[name]
    return tuple(map(str, patterns)) if isinstance(patterns, list) else (str(patterns),)


def _matches(patterns: tuple[str, ...], tag: str) -> bool:
    """Return what the last of the patterns that match says."""
    last = [pattern for pattern in patterns if re.fullmatch(_expression(pattern.removeprefix("!")), tag)][-1:]
    return bool(last) and not last[0].startswith("!")


def _expression(pattern: str) -> str:
    return "".join(_elements(pattern))


def _elements(pattern: str) -> Iterator[str]:
    countable = False
    for match in _ELEMENT.finditer(pattern):
        if match["deep"] or match["any"]:
            yield ".*" if match["deep"] else "[^/]*"
            countable = False
        elif countable and match["one"] in ("?", "+"):
            yield match["one"]
            countable = False
        else:
            yield _set(match["set"]) if match["set"] else re.escape(match["escaped"] or match["one"])
            countable = True


def _set(inside: str) -> str:
    """Return what one character of a set is; a range from the later to the earlier has none."""
    ranges = [match for match in _IN_SET.finditer(inside) if match["one"] or match["first"] <= match["last"]]
    parts = [re.escape(match["one"]) if match["one"] else f"{match['first']}-{match['last']}" for match in ranges]
    return f"[{''.join(parts)}]" if parts else "(?!)"


def _refused(why: str, where: str, tag: str) -> InputError:
    fix = "Change the workflow, or rehearse the workflow and the tag that belong together."
    return InputError(f"GitHub starts nothing of it for a push of {quote(tag)}: {why}", where=where, fix=fix)
