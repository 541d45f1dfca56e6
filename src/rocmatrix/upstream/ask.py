"""All sources asked at once, each for at most as long as is allowed; one that gives no usable answer says why."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Sequence
from dataclasses import replace

from rocmatrix.plan.survey import Observation, Silence, Survey
from rocmatrix.toolchain.wheel import pip_network
from rocmatrix.upstream import pages
from rocmatrix.upstream.package_index import torch_versions
from rocmatrix.upstream.page_client import PageClient, PageError
from rocmatrix.upstream.sources import PageKind, Source

_Answer = Observation | Silence | Exception


def survey_upstream(sources: Sequence[Source], *, timeout: float) -> Survey:
    """Ask every source.

    Args:
        sources: which.
        timeout: seconds for all of them together; who has not answered by then is left.

    Raises:
        MissingRequirementError: there is no pip to say how servers are reached.
    """
    client = PageClient(network=pip_network())
    answers: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
    for source in sources:
        # A daemon: a server that sends a byte now and then can hold its thread, and must not hold the process.
        threading.Thread(target=_ask, args=(source, client, timeout, answers), daemon=True).start()
    found: dict[str, Observation | Silence] = {}
    deadline = time.monotonic() + timeout
    while len(found) < len(sources):
        try:
            answer = answers.get(timeout=max(0.0, deadline - time.monotonic()))
        except queue.Empty:
            break
        if isinstance(answer, Exception):
            raise answer
        found[answer.source] = answer
    for source in sources:
        found.setdefault(source.name, _silence(source, f"no answer within {timeout:g} s"))
    ordered = [found[source.name] for source in sources]
    return Survey(
        observations=tuple(one for one in ordered if isinstance(one, Observation)),
        silences=tuple(one for one in ordered if isinstance(one, Silence)),
    )


def _ask(source: Source, client: PageClient, timeout: float, answers: queue.SimpleQueue[_Answer]) -> None:
    try:
        answers.put(_observed(source, client, timeout))
    except PageError as err:
        answers.put(_silence(source, str(err)))
    except Exception as err:  # noqa: BLE001 - a thread has nobody above it: who asked raises it
        answers.put(err)


def _observed(source: Source, client: PageClient, timeout: float) -> Observation:
    if source.url is None:
        return Observation(source=source.name, url="pip", torches=torch_versions(timeout))
    seen = Observation(source=source.name, url=source.url, stream=source.stream)
    names = pages.names_in(client.read(source.url))
    match source.kind:
        case PageKind.TORCH_WHEELS:
            seen = replace(seen, wheels=pages.torch_wheels(names))
        case PageKind.ROCM_PACKAGES:
            seen = replace(seen, releases=pages.rocm_packages(names))
        case PageKind.ROCM_FOLDERS:
            seen = replace(seen, releases=pages.rocm_folders(names))
        case PageKind.PROJECTS:
            seen = replace(seen, archs=pages.device_archs(names))
    if not (seen.wheels or seen.releases or seen.archs):
        raise PageError(f"its page has nothing of what it is asked for ({source.kind})")
    return seen


def _silence(source: Source, reason: str) -> Silence:
    return Silence(source=source.name, reason=reason, lists_wheels=source.kind is PageKind.TORCH_WHEELS)
