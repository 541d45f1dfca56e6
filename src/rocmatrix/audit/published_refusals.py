"""What the Hub's client raises where somebody else's kernel is looked at, as messages for the person who looks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus

from rocmatrix.errors import InputError, MissingRequirementError, RocmatrixError

_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})
TRY_AGAIN = "Check the network and HF_ENDPOINT, then run again."


@contextmanager
def refusals(repo: str, revision: str | None) -> Iterator[None]:
    """Turn what the Hub's client raises into messages; none of them holds a token or an address with credentials.

    Args:
        repo: what is asked for, ``owner/name``.
        revision: of it.

    Raises:
        InputError: there is no such repository or revision, or none can be called so.
        MissingRequirementError: the Hub cannot be reached, is out of order, or wants a permission that is not there.
    """
    from huggingface_hub.errors import (  # noqa: PLC0415 - heavy, and only this needs it
        GatedRepoError,
        HFValidationError,
        RepositoryNotFoundError,
        RevisionNotFoundError,
    )

    try:
        yield
    except RocmatrixError:
        raise
    except GatedRepoError as err:
        fix = "Ask for access on its page, and log in with a token that has it (`hf auth login`, or HF_TOKEN)."
        raise MissingRequirementError("access to it must be granted first", where=repo, fix=fix) from err
    except RepositoryNotFoundError as err:
        fix = "Check the name; a private one needs a token that may read it (`hf auth login`, or HF_TOKEN)."
        raise InputError("the Hub has no such kernel, or does not show it", where=repo, fix=fix) from err
    except RevisionNotFoundError as err:
        fix = "Name a branch such as v1, a tag or a commit; without one the newest v<N> is taken."
        raise InputError(f"it has no revision {revision}", where=repo, fix=fix) from err
    except HFValidationError as err:
        raise InputError(str(err)[:200], where=repo, fix="Write <owner>/<name>[@REV].") from err
    except (OSError, ValueError, RecursionError) as err:  # HTTP errors are OSErrors; the others: what it cannot parse
        raise _unreachable(err, repo) from err
    except Exception as err:
        if type(err).__module__.partition(".")[0] not in {"httpx2", "httpx", "httpcore2", "huggingface_hub"}:
            raise
        raise _unreachable(err, repo) from err


def _unreachable(err: Exception, repo: str) -> MissingRequirementError:
    """Return the error for a Hub that does not answer as one; an address in the client's words is left out."""
    response = getattr(err, "response", None)
    status = getattr(response, "status_code", None)
    fix = TRY_AGAIN
    if status is not None:
        what = f"the Hub answered with HTTP status {status}"
        if status in _REFUSED:
            fix = (
                "Log in with a token that may read it (`hf auth login`, or HF_TOKEN), or without one that has expired."
            )
    elif isinstance(err, OSError) and err.strerror:
        what = f"the Hub cannot be reached: {err.strerror}"
    else:
        what = f"the Hub cannot be reached: {type(err).__name__}"
    return MissingRequirementError(what, where=repo, fix=fix)
