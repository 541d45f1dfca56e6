"""A wheel as an archive: the same files give the same bytes.

Layout: "Binary distribution format" of the Python Packaging User Guide, wheel version 1.0. Names are sorted, times and
modes fixed, ``RECORD`` is last. The bytes also depend on the zlib that Python was built with.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import os
import time
import zipfile
from collections.abc import Mapping

from rocmatrix.errors import InputError

_MODE = 0o100644 << 16
_LEVEL = 9
_EPOCH = 315532800
"""1980-01-01, the first time that a ZIP archive can hold."""
_LAST = 4354819198
"""2107-12-31 23:59:58, the last one."""


def build_archive(files: Mapping[str, bytes], info: str) -> bytes:
    """Return a wheel.

    Args:
        files: path in the archive -> content, all but ``RECORD``.
        info: the ``.dist-info`` folder.

    Raises:
        InputError: ``SOURCE_DATE_EPOCH`` is no time.
    """
    moment = time.gmtime(_source_date())[:6]
    record = f"{info}/RECORD"
    ordered = [*sorted(path for path in files if not path.startswith(info)), *sorted(_inside(files, info))]
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=_LEVEL) as archive:
        for path, content in [*((path, files[path]) for path in ordered), (record, _record(files, ordered, record))]:
            entry = zipfile.ZipInfo(path, date_time=(moment[0], moment[1], moment[2], moment[3], moment[4], moment[5]))
            entry.compress_type = zipfile.ZIP_DEFLATED
            entry.external_attr = _MODE
            entry.create_system = 3  # Unix, so that the mode counts
            archive.writestr(entry, content)
    return stream.getvalue()


def _inside(files: Mapping[str, bytes], info: str) -> list[str]:
    return [path for path in files if path.startswith(info)]


def _record(files: Mapping[str, bytes], ordered: list[str], record: str) -> bytes:
    """Return ``RECORD``: path, digest and size of every file but itself."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for path in ordered:
        digest = base64.urlsafe_b64encode(hashlib.sha256(files[path]).digest()).rstrip(b"=").decode("ascii")
        writer.writerow((path, f"sha256={digest}", len(files[path])))
    writer.writerow((record, "", ""))
    return text.getvalue().encode("utf-8")


def _source_date() -> int:
    """Return the time that the files have, in seconds of Unix time.

    Raises:
        InputError: ``SOURCE_DATE_EPOCH`` is no whole number.
    """
    named = os.environ.get("SOURCE_DATE_EPOCH")
    if named is None:
        return _EPOCH
    if not (named.isascii() and named.isdigit()):
        fix = "Set it to seconds since 1970, e.g. of the commit: git log -1 --format=%ct"
        raise InputError("SOURCE_DATE_EPOCH is no whole number", where="environment", fix=fix)
    return min(max(int(named), _EPOCH), _LAST)
