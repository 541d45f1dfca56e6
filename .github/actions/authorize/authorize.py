"""Refuse a run for a pull request unless everything about it is as it has to be.

The person is the one who triggered this run, a repetition of it too. The full commit of the pull request's head has to
be named, so that what was pushed after somebody read it is not what runs.
"""
# ruff: noqa: INP001 - a program of its own

from __future__ import annotations

import json
import os
import re
import sys
import urllib.error
import urllib.request
from http.client import HTTPException
from urllib.parse import quote

_MAY_WRITE = ("admin", "write")
_SECONDS = 30


class RefusedError(Exception):
    """Something is not as it has to be; the message says what."""


def authorize(variables: dict[str, str]) -> None:
    """Look at where the run began, who asks, and for which commit.

    Raises:
        RefusedError: one of them is not as it has to be, or GitHub does not say.
    """
    number, sha, actor = variables["NUMBER"], variables["SHA"], variables.get("GITHUB_TRIGGERING_ACTOR", "")
    if not variables["DEFAULT_BRANCH"] or variables["GITHUB_REF"] != f"refs/heads/{variables['DEFAULT_BRANCH']}":
        raise RefusedError("this workflow runs from the default branch alone")
    if not re.fullmatch(r"[1-9][0-9]{0,9}", number, re.ASCII) or not re.fullmatch(r"[0-9a-f]{40}", sha):
        raise RefusedError("number and sha are a number and a full commit")
    if not actor:
        raise RefusedError("nobody is named who asks")
    right = _ask(variables, f"collaborators/{quote(actor, safe='')}/permission").get("permission")
    if right not in _MAY_WRITE:
        raise RefusedError(f"{actor} may not write here")
    pull = _ask(variables, f"pulls/{number}")
    head = pull.get("head")
    now = head.get("sha") if isinstance(head, dict) else None
    if now != sha:
        raise RefusedError(f"the pull request is at {now} by now: read it again")
    if pull.get("state") != "open":
        raise RefusedError("the pull request is not open")


def _ask(variables: dict[str, str], path: str) -> dict[str, object]:
    address = f"{variables['GITHUB_API_URL']}/repos/{variables['GITHUB_REPOSITORY']}/{path}"
    headers = {"Authorization": f"Bearer {variables['TOKEN']}", "Accept": "application/vnd.github+json"}
    request = urllib.request.Request(address, headers=headers)  # noqa: S310 - the runner names the address
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310 - as above
            found = json.load(answer)
    except urllib.error.HTTPError as err:
        raise RefusedError(f"GitHub answers {err.code} to {path}") from err
    except (OSError, ValueError, RecursionError, HTTPException) as err:
        raise RefusedError(f"GitHub does not answer to {path}: {type(err).__name__}") from err
    if not isinstance(found, dict):
        raise RefusedError(f"GitHub's answer to {path} is none")
    return found


def _harmless(text: str) -> str:
    """Return a text as one printable line of a log, which acts on nothing."""
    return "".join(each if each.isprintable() else "?" for each in text).replace("##[", "# # [")[:300]


if __name__ == "__main__":
    try:
        authorize(dict(os.environ))
    except RefusedError as refused:
        sys.exit(_harmless(f"refused: {refused}"))
    print("authorized")  # noqa: T201 - what the log says
