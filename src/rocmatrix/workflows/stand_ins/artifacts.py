"""Artifacts of a workflow by the protocol of GitHub's ArtifactService, with nothing but the standard library.

The stand-ins of actions/upload-artifact and actions/download-artifact call it with their inputs as variables. The
protocol (Twirp calls, then block uploads to the address that they name) is what act 0.2.89 serves. Of the real actions
it keeps what matters: artifacts are immutable, files lie in the archive relative to the least common ancestor of the
paths' parts before their first wildcard, hidden files are left out, one artifact is laid flat into the path.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import http.client
import io
import json
import os
import sys
import urllib.error
import urllib.request
import zipfile
from pathlib import Path

_SERVICE = "twirp/github.actions.results.api.v1.ArtifactService"
_SECONDS = 60
_WILD = "*?["


def call(method: str, body: dict[str, object]) -> dict[str, object]:
    """Return what the service answers."""
    run, job = _backend_ids()
    message = {"workflow_run_backend_id": run, "workflow_job_run_backend_id": job, **body}
    request = urllib.request.Request(  # noqa: S310 - the runner names the address
        f"{os.environ['ACTIONS_RESULTS_URL'].rstrip('/')}/{_SERVICE}/{method}",
        data=json.dumps(message).encode(),
        headers={
            "Authorization": f"Bearer {os.environ['ACTIONS_RUNTIME_TOKEN']}",
            "Content-Type": "application/json",
        },
    )
    with urllib.request.urlopen(request, timeout=_SECONDS) as answer:  # noqa: S310
        found: dict[str, object] = json.load(answer)
    return found


def upload(name: str, patterns: list[str], if_none: str, *, overwrite: bool = False) -> str:
    """Upload files as an artifact of a new name, or of any; return what is to be said, or raise ``SystemExit``."""
    if any(character in name for character in '":<>|*?\r\n\\/'):
        raise SystemExit(f"the artifact name is not valid: {name}")
    root, files = _files(patterns)
    if not files:
        said = f"no files were found with the provided path: {', '.join(patterns)}"
        if if_none == "error":
            raise SystemExit(said)
        return said
    if not overwrite and name in {str(artifact["name"]) for artifact in _listed()}:
        raise SystemExit(f"Conflict: an artifact with this name already exists on the workflow run: {name}")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=6) as archive:
        for file in files:
            archive.writestr(file.relative_to(root).as_posix(), file.read_bytes())
    content = packed.getvalue()
    url = str(call("CreateArtifact", {"name": name, "version": 4})["signedUploadUrl"])
    block = base64.urlsafe_b64encode(b"0" * 48).decode()
    _put(f"{url}&comp=block&blockid={block}", content)
    _put(f"{url}&comp=blocklist", f"<BlockList><Latest>{block}</Latest></BlockList>".encode())
    digest = f"sha256:{hashlib.sha256(content).hexdigest()}"
    call("FinalizeArtifact", {"name": name, "size": str(len(content)), "hash": digest})
    return f"artifact {name}: {len(files)} files, {len(content)} bytes"


def download(name: str, pattern: str, target: Path, *, merge: bool) -> str:
    """Download one artifact or all whose name matches; return what is to be said, or raise ``SystemExit``."""
    found = [str(artifact["name"]) for artifact in _listed()]
    wanted = [each for each in found if each == name or (not name and fnmatch.fnmatchcase(each, pattern or "*"))]
    if name and not wanted:
        raise SystemExit(f"Unable to download artifact(s): Artifact not found for name: {name}")
    flat = name or merge or len(wanted) == 1  # the only match of a pattern too: actions/download-artifact#416
    for each in wanted:
        url = str(call("GetSignedArtifactURL", {"name": each})["signedUrl"])
        with urllib.request.urlopen(url, timeout=_SECONDS) as answer:  # noqa: S310
            archive = zipfile.ZipFile(io.BytesIO(answer.read()))
        archive.extractall(target if flat else target / each)
    return f"total of {len(wanted)} artifact(s) downloaded"


def _backend_ids() -> tuple[str, str]:
    payload = os.environ["ACTIONS_RUNTIME_TOKEN"].split(".")[1]
    claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
    scope = next(part for part in str(claims["scp"]).split() if part.startswith("Actions.Results:"))
    _, run, job = scope.split(":")
    return run, job


def _listed() -> list[dict[str, object]]:
    try:
        artifacts = call("ListArtifacts", {}).get("artifacts") or []
    except http.client.RemoteDisconnected:  # what act's server does as long as the run has no artifact
        return []
    assert isinstance(artifacts, list)  # noqa: S101 - the protocol
    return artifacts


def _files(patterns: list[str]) -> tuple[Path, list[Path]]:
    """Return the least common ancestor of the search paths, and the files, hidden ones left out."""
    roots, files = [], set[Path]()
    for pattern in patterns:
        parts = Path(pattern).parts
        fixed = next((number for number, part in enumerate(parts) if any(mark in part for mark in _WILD)), len(parts))
        base = Path.cwd().joinpath(*parts[:fixed])
        found = [base] if fixed == len(parts) else list(base.glob(str(Path(*parts[fixed:]))))
        inside = [path for each in found for path in ([each] if each.is_file() else each.rglob("*")) if path.is_file()]
        files |= {path for path in inside if not any(p.startswith(".") for p in path.relative_to(Path.cwd()).parts)}
        roots.append(base.parent if base.is_file() or not base.exists() else base)
    several = len(patterns) > 1 or (len(files) == 1 and roots[0].is_file())
    return (Path(os.path.commonpath(roots)) if several else roots[0]), sorted(files)


def _put(url: str, content: bytes) -> None:
    request = urllib.request.Request(url, data=content, method="PUT")  # noqa: S310
    with urllib.request.urlopen(request, timeout=_SECONDS):  # noqa: S310
        pass


def main(what: str) -> str:
    """Do what the stand-in is asked for by its variables."""
    variables = os.environ
    if what == "upload":
        paths = [line.strip() for line in variables["PATHS"].splitlines() if line.strip()]
        overwrite = variables["OVERWRITE"] == "true"
        return upload(variables["NAME"], paths, variables["IF_NO_FILES_FOUND"], overwrite=overwrite)
    target = Path(variables["TARGET"])
    return download(variables["NAME"], variables["PATTERN"], target, merge=variables["MERGE"] == "true")


if __name__ == "__main__":
    try:
        print(main(sys.argv[1]))  # noqa: T201 - a program of its own
    except urllib.error.HTTPError as err:
        raise SystemExit(f"the artifact service answered {err.code} to {err.url}") from err
