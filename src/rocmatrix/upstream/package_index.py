"""Which torch minors the package index has that pip is configured with: asked of pip itself."""

from __future__ import annotations

import re
import subprocess
import sys

from rocmatrix.plan.version import in_order, is_minor
from rocmatrix.upstream.page_client import PageError

_VERSION = re.compile(r"([0-9]+\.[0-9]+)(?:\.[0-9]+)*(?:\.post[0-9]+)?(?:\+[a-z0-9.]+)?", re.ASCII)
_LISTED = re.compile(r"^Available versions: (.*)$", re.MULTILINE)


def torch_versions(timeout: float) -> tuple[str, ...]:
    """Return the minors of torch's final releases, lowest first.

    Args:
        timeout: seconds that pip may take.

    Raises:
        PageError: there is no pip, or it finds none.
    """
    options = ("--disable-pip-version-check", "--no-input", "--retries=0")
    command = [sys.executable, "-m", "pip", "index", "versions", "torch", *options]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=timeout,
            check=False,
        )
    except subprocess.TimeoutExpired as err:
        raise PageError("pip gave no answer within the time") from err
    listed = _LISTED.search(done.stdout)
    if done.returncode != 0 or listed is None:
        raise PageError("pip finds no torch in the index that it is configured with")
    matches = (_VERSION.fullmatch(version.strip()) for version in listed[1].split(","))
    return in_order(match[1] for match in matches if match and is_minor(match[1]))
