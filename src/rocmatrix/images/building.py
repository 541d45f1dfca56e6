"""Building an image: what is checked before, the builder that is there, and what the build needed removed after."""

from __future__ import annotations

import io
import json
import re
import shutil
import ssl
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING

from rocmatrix.engine.connection import docker_errors, engine_name
from rocmatrix.errors import InputError, MissingRequirementError
from rocmatrix.images import buildx
from rocmatrix.images.build_failure import BuildLog, failure
from rocmatrix.images.context import CERTIFICATES, pack
from rocmatrix.images.options import BuildOptions, Order
from rocmatrix.images.pins import PinKind
from rocmatrix.images.recipe import BASE_ARGUMENT, Recipe
from rocmatrix.images.recipe_file import DOCKERFILE, PINS_FILE
from rocmatrix.input_file import read_input

if TYPE_CHECKING:
    from docker import DockerClient

PLATFORM = "linux/amd64"
_BUILD_SECONDS = 7200
"""Seconds without any output after which a build is given up; a slow mirror is silent for minutes."""

_ENDING_SECONDS = 20.0
"""Seconds within which an engine has ended a build whose reader is gone: docker gives a container ten to end."""

_ADDRESSED = (PinKind.RPM, PinKind.PIP)
"""Kinds of pins whose Dockerfile is told the address, as ``RPM_ADDRESS`` and ``PIP_ADDRESS``."""

_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
"""The classic builder colours each piece of what an instruction writes to standard error, also within a line."""

_STEP = re.compile(r"^Step \d+/\d+ : (\w+)")
_STAGE = re.compile(r"^ ---> ([0-9a-f]{12,64})$")


def build(client: DockerClient, recipe: Recipe, options: BuildOptions, labels: Mapping[str, str]) -> None:
    """Build an image and give it its name.

    Raises:
        InputError: the certificates are none.
        MissingRequirementError: pins are not resolved, or the engine, its disk, its network or the base image do not
            let it be built.
        BuildError: an instruction of the Dockerfile failed, for a reason of its own.
    """
    require_resolved(recipe)
    certificates = read_certificates(recipe, options.certificates)
    require_space(client, recipe)
    require_platform(client, recipe)
    order = Order(
        recipe=recipe,
        options=options,
        context=pack(labelled(recipe.context, labels), certificates),
        arguments=build_arguments(recipe, options),
        network=options.network or network_of(client),
    )
    if buildx.chosen(options.builder):
        buildx.build(order)
    else:
        _classic(client, order)


def require_resolved(recipe: Recipe) -> None:
    """Refuse a recipe with packages of which only the names are known."""
    for one in recipe.pins:
        if odd := one.unresolved:
            raise MissingRequirementError(
                f"{recipe.label} has unresolved pins: no file and no SHA-256 is known of {len(odd)} packages of the set"
                f" {one.name}",
                where=f"{recipe.name}/{PINS_FILE}",
                fix=f"Run `rocmatrix images pin {recipe.name}` (./path for a recipe of your own) where"
                f" {one.address or 'their repository'} can be reached.",
            )


def labelled(files: Mapping[str, bytes], labels: Mapping[str, str]) -> dict[str, bytes]:
    """Return the context with all labels as one instruction at the Dockerfile's end: builders make one step of each."""
    words = " ".join(f"{name}={json.dumps(value.replace('$', ''))}" for name, value in labels.items())
    return {**files, DOCKERFILE: files[DOCKERFILE].rstrip() + f"\nLABEL {words}\n".encode()}


def build_arguments(recipe: Recipe, options: BuildOptions) -> dict[str, str]:
    """Return the build arguments: the recipe's, its addresses, and proxies, which engines keep out of images."""
    addresses = {f"{one.kind.upper()}_ADDRESS": one.address for one in recipe.pins if one.kind in _ADDRESSED}
    proxies = {spelling: value for name, value in options.proxies.items() for spelling in (name, name.upper())}
    return {**recipe.args, **addresses, BASE_ARGUMENT: recipe.base.pulled, **proxies}


def network_of(client: DockerClient) -> str | None:
    """Return ``host`` for an engine without the usual bridge, else ``None``: its own choice."""
    with docker_errors("listing networks"):
        return None if client.networks.list(names=["bridge"]) else "host"


def require_space(client: DockerClient, recipe: Recipe) -> None:
    """Refuse an engine on this machine whose disk is too small; the disk of a remote one cannot be seen."""
    with docker_errors("asking the engine about itself"):
        root = Path(client.info()["DockerRootDir"])
    if not engine_name().startswith("unix://"):
        return
    try:
        free = shutil.disk_usage(root).free
    except OSError:  # not a folder of this machine, or not one that this user may see
        return
    if free < recipe.build_bytes:
        raise MissingRequirementError(
            f"building {recipe.label} takes {recipe.build_bytes / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free",
            where=str(root),
            fix="Free space (`docker system df` shows what the engine keeps), or set DOCKER_HOST to a larger engine.",
        )


def require_platform(client: DockerClient, recipe: Recipe) -> None:
    """Refuse a base that the engine has for another kind of machine."""
    from docker.errors import ImageNotFound  # noqa: PLC0415 - slow to import, and only engines need it

    with docker_errors("looking for the base image"):
        try:
            found = client.images.get(recipe.base.pulled).attrs
        except ImageNotFound:
            return
    platform = f"{found['Os']}/{found['Architecture']}"
    if platform != PLATFORM:
        raise MissingRequirementError(
            f"the base image {recipe.base.pulled} is for {platform}, and recipes are for {PLATFORM}",
            where=recipe.label,
            fix=f"Remove it (`docker rmi`) and pull it with --platform {PLATFORM}, or name another with --base.",
        )


def read_certificates(recipe: Recipe, path: Path | None) -> bytes:
    """Return certificates in PEM; raises ``InputError`` if the file holds none or the recipe takes none."""
    if path is None:
        return b""
    if CERTIFICATES.partition("/")[0].encode() not in recipe.context[DOCKERFILE]:
        raise InputError(
            f"{recipe.label} takes no certificates: its Dockerfile does not copy {CERTIFICATES}",
            where=str(recipe.folder / DOCKERFILE),
            fix="Leave --ca-bundle out. docs/containers.md shows how a recipe takes them without keeping them.",
        )
    content = read_input(path, largest=8 << 20)
    try:
        ssl.create_default_context(cadata=content.decode("ascii", "replace"))
    except ssl.SSLError as err:
        fix = "Name a file with certificates in PEM, e.g. /etc/ssl/certs/ca-certificates.crt."
        raise InputError(f"no certificates can be read: {err.reason or err}", where=str(path), fix=fix) from err
    return content


def _classic(client: DockerClient, order: Order) -> None:
    """Build with the engine's classic builder, through its API."""
    from docker.errors import APIError  # noqa: PLC0415 - slow to import, and only engines need it

    log = BuildLog(order.recipe)
    with docker_errors(f"building {order.recipe.label}"):
        try:
            with closing(_started(client, order)) as events:
                error = _followed(events, log, order)
        except APIError as err:
            if err.status_code != HTTPStatus.BAD_REQUEST:
                raise
            error = str(err.explanation)  # an engine reads the whole Dockerfile before the first instruction
        except BaseException:  # an interrupt: the engine ends the build as soon as nobody listens, but not at once
            if order.options.certificates:
                _forget_stages(client, log.lines, seconds=_ENDING_SECONDS)
            raise
        if error is None or order.options.certificates:  # else what was done stays for the next attempt
            _forget_stages(client, log.lines)
        if error is not None:
            raise failure(log, error)


def _followed(events: Iterator[Mapping[str, object]], log: BuildLog, order: Order) -> str | None:
    """Hand on what the engine says of a build, to its end; return the error that it names."""
    error: str | None = None
    pending = ""
    for event in events:  # to the end: an answer left unread keeps its connection open
        *lines, pending = (pending + said_in(event)).split("\n")
        for line in lines:
            log.add(line)
            order.options.progress(line)
        if error is None and "error" in event:
            error = str(event["error"])
    log.add(pending)
    return error


def said_in(event: Mapping[str, object]) -> str:
    """Return what an event of the classic builder adds: pieces of output, not always whole lines, or one status."""
    if status := event.get("status"):
        return f"{status}\n"
    return _COLOUR.sub("", str(event.get("stream") or "")).replace("\r", "\n")


def _started(client: DockerClient, order: Order) -> Generator[Mapping[str, object], None, None]:
    """Start a build; return what the engine says of it, event by event."""
    events: Generator[Mapping[str, object], None, None] = client.api.build(
        fileobj=io.BytesIO(order.context),
        custom_context=True,
        tag=order.recipe.reference,
        buildargs=dict(order.arguments),
        network_mode=order.network,
        platform=PLATFORM,
        timeout=_BUILD_SECONDS,
        rm=True,
        forcerm=True,
        decode=True,
    )
    return events


def _forget_stages(client: DockerClient, lines: list[str], *, seconds: float = 0.0) -> None:
    """Remove what is not in a named image: stages hold the site's certificates, and as many bytes again.

    Args:
        client: of the engine.
        lines: what the engine said of the build.
        seconds: how long an image that is still in use is waited for.
    """
    from docker.errors import APIError  # noqa: PLC0415 - slow to import, and only engines need it

    deadline = time.monotonic() + seconds
    for image in last_of_stages(lines):
        while True:
            try:
                if not _named(client, image):
                    client.images.remove(image)
                break
            except APIError as err:  # another build is on it, or has removed it
                if err.status_code != HTTPStatus.CONFLICT or time.monotonic() > deadline:
                    break
                time.sleep(0.2)


def last_of_stages(lines: list[str]) -> Iterator[str]:
    """Yield what each stage made last, also one that ended early; an image that a stage begins with is not its own."""
    last: str | None = None
    begins = False
    for line in lines:
        if step := _STEP.match(line):
            begins = step[1].upper() == "FROM"
            if begins and last is not None:
                yield last
            last = None if begins else last
        elif (found := _STAGE.match(line)) and not begins:
            last = found[1]
    if last is not None:
        yield last


def _named(client: DockerClient, image: str) -> bool:
    """Whether an image is more than a stage of a build: somebody's tag, or pulled by its digest."""
    attrs = client.images.get(image).attrs
    return bool(attrs.get("RepoTags") or attrs.get("RepoDigests"))
