"""What an archive of Debian packages has: the version of each name in one suite."""

from __future__ import annotations

from rocmatrix.errors import InputError
from rocmatrix.images.pinning.unpacking import unpacked_xz
from rocmatrix.images.pinning.web import Web


def read_archive(web: Web, address: str) -> dict[str, str]:
    """Return the version of each package for x86-64 of ``URL SUITE COMPONENT``.

    The list is not checked against the archive's signature: it only proposes versions, and apt, which installs them,
    checks.

    Raises:
        InputError: the address is not of this form.
        MissingRequirementError: the archive cannot be reached.
    """
    words = address.split()
    if len(words) != 3:  # noqa: PLR2004 - the three of them
        fix = "Write `URL SUITE COMPONENT`, as in sources.list: http://deb.debian.org/debian trixie main."
        raise InputError(f"{address!r} is no archive of Debian packages", where="pins.toml", fix=fix)
    url, suite, component = words
    place = f"{url.rstrip('/')}/dists/{suite}/{component}/binary-amd64/Packages.xz"
    content = unpacked_xz(web.get(place), place)
    found: dict[str, str] = {}
    for entry in content.decode("utf-8", "replace").split("\n\n"):
        fields = dict(line.split(": ", 1) for line in entry.splitlines() if ": " in line and line[0] != " ")
        if "Package" in fields:
            found[fields["Package"]] = fields.get("Version", "")
    return found
