"""images.yml by act: images of toolchains built, logged in for, pushed and found again; bases resolved anew.

The recipes are small ones of the tests' own instead of ROCm's, the registry is one of this machine, instead of ghcr.io.
"""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pytest
from docker.errors import ImageNotFound

from rocmatrix.workflows.act import ActRun
from tests.system.docker_bed import Bed
from tests.system.image_recipes import make_recipe
from tests.system.image_registry import running_registry
from tests.system.index_server import page, serving
from tests.system.workflow_repository import commit, git, write_kernel
from tests.system.workflow_runs import GH, ROOT, logs, run

pytestmark = pytest.mark.needs_debian_images

TOKEN = "token-of-the-run"  # noqa: S105 - what the tests' own registry takes
USER = "nektos/act:$2b$04$abcdefghijklmnopqrstuu3ftkI623kViUxsGe.1fOmPMgIOSn.w6"
"""Whom act says that a run is of, with the bcrypt hash of ``TOKEN``."""

DOCKER = """#!/bin/sh
test "$1 $2" = "login ghcr.io" || exit 64
shift 2
exec {docker} login {registry} "$@"
"""
MACHINE = """case "$1 $2 $3" in
  "images push almalinux") set -- images push ./containers/{changed} ;;
  "images push therock") set -- images push ./containers/{kept} ;;
  "images pin --upgrade") set -- images pin --upgrade ./containers/moving ;;
esac
export ROCMATRIX_IMAGES=${{ROCMATRIX_IMAGES/#ghcr.io/{registry}}}
exec rocmatrix-itself "$@"
"""
OLD = "sha256:" + "0" * 64


@dataclass(frozen=True, kw_only=True)
class Site:
    """A repository with three recipes, and where its images go."""

    repository: Path
    registry: str
    bed: Bed
    changed: str
    kept: str

    def run(self, folder: Path, event: str) -> ActRun:
        """Run the workflow on a machine that has none of the images."""
        forget(self)
        host = self.bed.host
        docker = DOCKER.format(docker=shutil.which("docker"), registry=self.registry)
        return run(
            folder,
            self.repository,
            event=event,
            payload={"ref": "refs/heads/main", "repository": {"default_branch": "main"}},
            machine=MACHINE.format(registry=self.registry, changed=self.changed, kept=self.kept),
            programs={"docker": docker, "gh": GH},
            variables={"GH_LOG": str(folder / "gh.log"), **({"DOCKER_HOST": host} if host else {})},
            name="Acme/Source",
            token=TOKEN,
        )


def forget(site: Site) -> None:
    """Remove the images of the recipes from the engine, whatever their names there."""
    for name in (site.changed, site.kept):
        for where in (f"rocmatrix/{name}", f"{site.registry}/acme/source/{name}"):
            for image in site.bed.client.images.list(name=where):
                with suppress(ImageNotFound):  # it had both names
                    site.bed.client.images.remove(str(image.id), force=True)


@pytest.fixture
def site(tmp_path: Path, docker_engine: Bed, debian_bases: dict[str, str]) -> Iterator[Site]:
    """A repository whose workflow is images.yml, with recipes on Debian's base."""
    if shutil.which("docker") is None:
        pytest.skip("there is no docker command line, which logs in")
    images = (ROOT / ".github/workflows/images.yml").read_text(encoding="utf-8")
    repository = write_kernel(tmp_path / "source", "scale", caller=images)
    changed, kept = (f"test-{uuid.uuid4().hex[:12]}" for _ in range(2))
    for name in (changed, kept, "moving"):
        (repository / "containers").mkdir(exist_ok=True)
        make_recipe(repository / "containers", debian_bases["trixie"], name=name)
    commit(repository, "Recipes")
    (tmp_path / "registry").mkdir()
    with running_registry(tmp_path / "registry", user=USER) as registry:
        made = Site(repository=repository, registry=registry, bed=docker_engine, changed=changed, kept=kept)
        yield made
        forget(made)


def pushed(found: ActRun, site: Site) -> dict[str, str]:
    """Return the digest by which the registry knows each image that the run says it pushed."""
    names = {site.changed: "changed", site.kept: "kept"}
    said = re.sub(r"\s", "", found.said("Push"))
    return {
        names[name]: digest
        for name, digest in re.findall(
            rf"{re.escape(site.registry)}/acme/source/([a-z0-9-]+)@(sha256:[0-9a-f]{{64}})", said
        )
    }


def test_an_image_is_pushed_once_for_its_recipe_and_bases_that_moved_become_a_pull_request(
    tmp_path: Path, site: Site
) -> None:
    first = site.run(tmp_path / "first", "push")
    assert first.results("push") == ("success", "success"), logs(first)
    assert first.results("bases") == ()
    before = pushed(first, site)
    assert before.keys() == {"changed", "kept"}, logs(first)

    recipe = site.repository / "containers" / site.changed / "Dockerfile"
    recipe.write_text(recipe.read_text().replace("cp /context/apt", "echo 2 >/made/two && cp /context/apt"))
    index = json.dumps({"manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": OLD}]})
    with serving({"/v2/library/base/manifests/1": page(index)}) as address:
        pins = site.repository / "containers/moving/pins.toml"
        base = f'reference = "{address.removeprefix("http://")}/library/base:1"\ndigest = "{OLD}"'
        pins.write_text(re.sub("reference = .*", base, pins.read_text(), count=1))
        commit(site.repository, "Another instruction, and a base that moves")
        second = site.run(tmp_path / "second", "workflow_dispatch")
    assert second.results("push") == ("success", "success"), logs(second)
    after = pushed(second, site)
    assert after["kept"] == before["kept"], "it was built anew"
    assert after["changed"] != before["changed"]
    assert second.results("bases") == ("success",), logs(second)
    asked = (tmp_path / "second/gh.log").read_text().splitlines()
    assert [line.split()[:2] for line in asked] == [["pr", "list"], ["pr", "create"]]
    clone = tmp_path / "second/run/repository"
    assert git(clone, "diff", "--name-only", "main", "bots/image-bases").split() == ["containers/moving/pins.toml"]
    new = f"sha256:{hashlib.sha256(index.encode()).hexdigest()}"
    assert f'+digest = "{new}"' in git(clone, "diff", "main", "bots/image-bases")


@pytest.mark.parametrize("event", ["push", "workflow_dispatch"])
def test_from_another_branch_nothing_is_pushed_and_nothing_asked_for(tmp_path: Path, event: str) -> None:
    images = (ROOT / ".github/workflows/images.yml").read_text(encoding="utf-8")
    repository = write_kernel(tmp_path / "source", "scale", caller=images)
    payload: dict[str, object] = {"ref": "refs/heads/other", "repository": {"default_branch": "main"}}
    found = run(tmp_path, repository, event=event, payload=payload)
    assert (found.jobs, found.exit_code) == ((), 0), logs(found)
