"""Which credential a release uses, and that its value is never seen."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from huggingface_hub import get_token
from huggingface_hub.errors import OIDCError

from rocmatrix.errors import ReleaseError

_RESOURCE, _TOKEN, _TOKENS = "HF_OIDC_RESOURCE", "HF_TOKEN", ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")
_MASK = "***"


@dataclass(frozen=True, kw_only=True)
class Credential:
    """A token and where it came from.

    Attributes:
        token: the secret; never in a representation.
        source: where it came from, for people.
    """

    token: str | None = field(repr=False)
    source: str

    def masked(self, text: str) -> str:
        """Return a text without the secret."""
        return text.replace(self.token, _MASK) if self.token else text


def find_credential() -> Credential:
    """Return the credential: trusted publishing first, then ``HF_TOKEN``, then the client's own login.

    huggingface_hub 2.4.0 (``utils/_auth.py``, get_token) looks in that order too; here it is said which one it was.

    Raises:
        ReleaseError: trusted publishing was asked for and did not work, or there is no credential at all.
    """
    if os.environ.get(_RESOURCE):
        try:
            token = get_token()
        except (OIDCError, OSError) as err:
            raise ReleaseError(
                f"trusted publishing did not give a token: {err}",
                where=_RESOURCE,
                fix="Give the job `permissions: id-token: write`, and make it a trusted publisher of the repository.",
            ) from err
        return Credential(token=token, source=f"trusted publishing ({_RESOURCE})")
    named = next((name for name in _TOKENS if os.environ.get(name)), None)
    token = get_token()
    if token is None:
        raise ReleaseError(
            "there is no credential for the Hub",
            fix="Use trusted publishing in CI, set HF_TOKEN, or log in with `hf auth login`.",
        )
    return Credential(token=token, source=named or "the login of huggingface_hub")
