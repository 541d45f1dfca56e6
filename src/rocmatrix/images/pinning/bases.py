"""Digests of base images, by the API of the registries that have them (distribution's HTTP API V2)."""

from __future__ import annotations

import hashlib
import json
import re
from urllib.parse import urlencode

from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.images.pinning.web import Answer, Web

_DOCKER_HUB = ("docker.io", "index.docker.io")
_DOCKER_HUB_API = "registry-1.docker.io"
_LOOPBACK = re.compile(r"(localhost|127(\.\d+){3})(:\d+)?")
_INDEXES = ("application/vnd.oci.image.index.v1+json", "application/vnd.docker.distribution.manifest.list.v2+json")
_MANIFESTS = ("application/vnd.oci.image.manifest.v1+json", "application/vnd.docker.distribution.manifest.v2+json")


def resolve_base(web: Web, reference: str, digest: str | None) -> str:
    """Return the digest of a base image: the one it has if the registry still knows it, else that of its tag.

    Raises:
        InputError: the reference names no registry.
        MissingRequirementError: the registry cannot be reached, does not have it, or not for linux/amd64.
    """
    registry, repository, tag = _parts(reference)
    scheme = "http" if _LOOPBACK.fullmatch(registry) else "https"
    host = _DOCKER_HUB_API if registry in _DOCKER_HUB else registry
    prefix = f"{scheme}://{host}/v2/{repository}/manifests"
    if digest is not None:
        try:
            return _digest(_manifest(web, f"{prefix}/{digest}"), reference)
        except MissingRequirementError as err:
            if "answers 404" not in err.what:
                raise
    return _digest(_manifest(web, f"{prefix}/{tag}"), reference)


def _parts(reference: str) -> tuple[str, str, str]:
    """Return registry, repository and tag of ``registry/repository[:tag]``."""
    registry, slash, rest = reference.partition("/")
    if not slash or not ("." in registry or ":" in registry or registry == "localhost"):
        fix = "Write it with its registry, e.g. docker.io/library/debian:trixie."
        raise InputError(f"the base {reference!r} names no registry", where="pins.toml", fix=fix)
    repository, _, tag = rest.partition(":")
    return registry, repository, tag or "latest"


def _manifest(web: Web, url: str) -> Answer:
    """Return a manifest; a registry that wants a token is asked for an anonymous one, as ``docker pull`` does."""
    headers = {"Accept": ", ".join((*_INDEXES, *_MANIFESTS))}
    answer = web.answer(url, headers, refused=True)
    if answer.status == 401:  # noqa: PLR2004 - HTTP's number
        challenge = answer.headers.get("WWW-Authenticate", "")
        words = dict(re.findall(r'(\w+)="([^"]*)"', challenge))
        if not challenge.lower().startswith("bearer") or "realm" not in words:
            raise MissingRequirementError(
                "the registry wants a login", where=url, fix="Name a base of a registry that can be read without one."
            )
        query = urlencode({name: words[name] for name in ("service", "scope") if name in words})
        token = json.loads(web.get(f"{words['realm']}?{query}"))
        headers["Authorization"] = f"Bearer {token.get('token') or token.get('access_token')}"
        answer = web.answer(url, headers)
    return answer


def _digest(answer: Answer, reference: str) -> str:
    """Return the digest of a manifest's bytes, after looking for linux/amd64 in it where it is an index."""
    manifest = json.loads(answer.content)
    entries = manifest.get("manifests")
    if entries is not None:
        platforms = [one.get("platform", {}) for one in entries]
        if not any((one.get("os"), one.get("architecture")) == ("linux", "amd64") for one in platforms):
            raise MissingRequirementError(
                "the image is not there for linux/amd64", where=reference, fix="Name another base in pins.toml."
            )
    return f"sha256:{hashlib.sha256(answer.content).hexdigest()}"
