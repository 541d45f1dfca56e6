"""Documents of package repositories and registries, over HTTP: of bounded size, one message for each failure."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.errors import MissingRequirementError

if TYPE_CHECKING:
    import requests

SECONDS = 60.0
"""Seconds within which a server must begin to answer, and between two of its blocks."""

LARGEST = 256 << 20
"""Bytes of a document; the largest known, a distribution's package list, has some 20 million."""


class Web:
    """Fetches documents; proxies are those of the environment, and certificates too unless a PEM file is given."""

    def __init__(self, certificates: Path | None = None) -> None:
        """Open nothing yet."""
        import requests  # noqa: PLC0415 - only where something is fetched

        self._session = requests.Session()
        self._verify = str(certificates) if certificates else None

    def get(self, url: str, headers: Mapping[str, str] | None = None) -> bytes:
        """Return a document.

        Raises:
            MissingRequirementError: the server cannot be reached or does not have it.
        """
        return self.answer(url, headers).content

    def answer(self, url: str, headers: Mapping[str, str] | None = None, *, refused: bool = False) -> Answer:
        """Return a document with its headers; ``refused`` returns a 401 as it is instead of raising."""
        import requests  # noqa: PLC0415 - as above

        try:
            with self._session.get(
                url, headers=dict(headers or {}), timeout=SECONDS, stream=True, verify=self._verify
            ) as found:
                if found.status_code == requests.codes.unauthorized and refused:
                    return Answer(b"", found)
                found.raise_for_status()
                content = bytearray()
                for block in found.iter_content(1 << 16):
                    content += block
                    if len(content) > LARGEST:
                        raise MissingRequirementError(
                            f"the document is larger than {LARGEST >> 20} MB", where=url, fix="See what serves it."
                        )
                return Answer(bytes(content), found)
        except requests.exceptions.SSLError as err:
            raise MissingRequirementError(
                "the server's certificate is not trusted: a proxy that intercepts TLS, or a server of the site itself",
                where=url,
                fix="Name the site's certificates in REQUESTS_CA_BUNDLE, or with --ca-bundle.",
            ) from err
        except requests.exceptions.HTTPError as err:
            raise MissingRequirementError(
                f"the server answers {err.response.status_code} {err.response.reason}",
                where=url,
                fix="See whether the address in pins.toml is still right.",
            ) from err
        except requests.exceptions.RequestException as err:
            raise MissingRequirementError(
                f"the server cannot be reached: {type(err).__name__}",
                where=url,
                fix="See to the network and to http_proxy and https_proxy; pins are resolved online.",
            ) from err


class Answer:
    """A document and what the server said about it."""

    def __init__(self, content: bytes, response: requests.Response) -> None:
        """Keep what is needed of a response."""
        self.content = content
        self.status = response.status_code
        self.headers: Mapping[str, str] = response.headers
