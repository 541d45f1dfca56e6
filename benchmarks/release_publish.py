"""What a release costs beside one bare commit of the same files, and what a release that is repeated uploads.

``python benchmarks/release_publish.py`` needs a checkout with its tests and the extras ``hub`` and ``release``. 40
variants of 1 MiB go to an embedded Hub in a process of its own, in turns with one ``create_commit`` of huggingface_hub
of the very same files; ratios are of medians within one run. The publish phase is all of a release but verifying, whose
time is stated apart: it downloads and hashes every file and asks the client's resolver. It fails if the publish phase
takes more than 1.5 times the bare commit, if the same release again uploads a byte or commits, or if a release with one
other variant uploads anything but that variant's objects.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
os.environ["HF_HUB_DISABLE_XET"] = "1"

from huggingface_hub import CommitOperationAdd, HfApi  # noqa: E402 - reads the environment
from tests.golden.content import PLAN  # noqa: E402
from tests.system.hub import OWNER, WRITER, serving  # noqa: E402

from rocmatrix.events import Event, Notice  # noqa: E402
from rocmatrix.hubserver.traffic import Traffic  # noqa: E402
from rocmatrix.plan.model import Abi, CellId, Plan, Unit, UnitId  # noqa: E402
from rocmatrix.release.api_hub import ApiHub, limit_requests  # noqa: E402
from rocmatrix.release.content import Content  # noqa: E402
from rocmatrix.release.credentials import Credential  # noqa: E402
from rocmatrix.release.publication import Wanted  # noqa: E402
from rocmatrix.release.serving import Pair  # noqa: E402
from rocmatrix.release.source_tag import Release  # noqa: E402
from rocmatrix.release.stage import publish  # noqa: E402
from rocmatrix.release.trees import file_on_disk  # noqa: E402
from rocmatrix.release.verification import Expectations  # noqa: E402
from rocmatrix.store import Store  # noqa: E402

TORCHES = ("2.10", "2.11", "2.12", "2.13", "2.14")
ROCMS = ("6.3", "6.4", "7.0", "7.1", "7.2", "7.3", "7.14", "7.15")
BINARY = 1 << 20
ROUNDS = 14
MOST = 1.5


@dataclass(frozen=True, kw_only=True)
class Times:
    """Seconds of one release: what changes the Hub, and what verifies it."""

    publishing: float
    verifying: float


def plan() -> Plan:
    """Return a plan of 40 units, one for each torch and ROCm."""
    cell = next(cell for cell in PLAN.cells if cell.kernel == "scale" and cell.unit)
    units, cells = [], []
    for torch in TORCHES:
        for rocm in ROCMS:
            variant = f"torch{torch.replace('.', '')}-cxx11-rocm{rocm.replace('.', '')}-x86_64-linux"
            unit = Unit(
                id=UnitId(f"scale.{variant}"),
                kernel="scale",
                variant=variant,
                abi=Abi.PER_TORCH,
                torch=torch,
                rocm=rocm,
                toolchain=None,
                archs=("gfx942",),
                serves=(CellId(f"scale.torch{torch}-rocm{rocm}"),),
            )
            units.append(unit)
            cells.append(replace(cell, id=unit.serves[0], torch=torch, rocm=rocm, unit=unit.id))
    kernel = replace(PLAN.kernels[0], repo_id=f"{OWNER}/scale")
    return replace(PLAN, kernels=(kernel,), units=tuple(units), cells=tuple(cells))


def write_variants(folder: Path, made: Plan) -> None:
    """Write 40 variants of four files each, all of other bytes each time.

    So it is after a change of the sources: their digest is in names and in the metadata.
    """
    uid = os.urandom(4).hex()
    for unit in made.units:
        place = folder / "build" / unit.variant
        place.mkdir(parents=True)
        (place / "__init__.py").write_text(f"from ._ops import ops  # {unit.variant} {uid}\n")
        (place / "_ops.py").write_text(f"ops = None  # {uid}\n")
        (place / "_scale.abi3.so").write_bytes(os.urandom(BINARY))
        metadata = {"id": f"_scale_{uid}", "name": "scale", "version": 2, "license": "mit", "python-depends": []}
        metadata |= {"backend": {"type": "rocm", "archs": ["gfx942"]}, "rocmatrix": {"variant": unit.variant}}
        (place / "metadata.json").write_text(json.dumps(metadata))


def wanted(folder: Path, made: Plan, patch: int) -> Wanted:
    """Return the release of a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    content = Content(
        kernel=made.kernels[0],
        variants=tuple(sorted(unit.variant for unit in made.units)),
        files={path.relative_to(folder).as_posix(): file_on_disk(path) for path in paths},
        metadata={},
    )
    pairs = tuple(Pair(torch=torch, rocm=rocm) for torch in TORCHES for rocm in ROCMS)
    tag = f"v2.0.{patch}"
    return Wanted(
        release=Release(source=tag, tag=tag, major=2, order=(2, 0, patch), preliminary=False),
        expectations=Expectations(content=content, plan=made, pairs=pairs, drop=frozenset()),
        message=f"scale {tag}",
        card=f"# scale {tag}\n".encode(),
        source_commit="0" * 40,
    )


@contextmanager
def hub(folder: Path) -> Iterator[str]:
    """Serve an embedded Hub from a process of its own, and yield its address."""
    process = subprocess.Popen(
        [sys.executable, "-m", "rocmatrix", "hub", "serve", str(folder), "--organization", OWNER],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "src"), "ROCMATRIX_HUB_TOKEN": WRITER},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        yield (process.stderr.readline() if process.stderr else "").strip().removeprefix("HF_ENDPOINT=")
    finally:
        process.kill()
        process.communicate()


def release(address: str, what: Wanted, folder: Path) -> Times:
    """Release, and return how long each part took."""
    marks: dict[str, float] = {}

    def emit(event: Event) -> None:
        if isinstance(event, Notice):
            marks.setdefault(event.message.partition(" ")[0], time.perf_counter())

    begun = time.perf_counter()
    there = ApiHub(address, Credential(token=WRITER, source="a benchmark"))
    publish(what, there, store=Store(folder / "dist"), emit=emit, credential="a benchmark", keep_journal=False)
    ended = time.perf_counter()
    verifying = marks["promoting"] - marks["verifying"]
    return Times(publishing=ended - begun - verifying, verifying=verifying)


def commit(address: str, what: Wanted, name: str) -> float:
    """Commit the same files to a repository of their own, bare, and return the seconds."""
    api = HfApi(endpoint=address, token=WRITER)
    files = what.expectations.content.files
    begun = time.perf_counter()
    api.create_repo(name, repo_type="kernel")
    operations = [CommitOperationAdd(path, str(file.source)) for path, file in files.items()]
    api.create_commit(name, operations, commit_message="all", repo_type="kernel")
    return time.perf_counter() - begun


def time_ratios(folder: Path) -> Iterable[tuple[str, float]]:
    """Release and commit in turns: each time a new Hub, a first release and one of all other bytes on top of it."""
    made = plan()
    rounds: dict[str, list[float]] = {}
    for turn in range(ROUNDS):
        place = folder / f"round-{turn}"
        for number in (0, 1):
            write_variants(place / str(number), made)
        with hub(place / "hub") as address:
            for number, kind in enumerate(("first", "following")):
                what = wanted(place / str(number), made, number)
                bare, times = 0.0, Times(publishing=0.0, verifying=0.0)
                for who in ("bare", "release") if turn % 2 else ("release", "bare"):
                    if who == "bare":
                        bare = commit(address, what, f"{OWNER}/bare-{number}")
                    else:
                        times = release(address, what, place)
                for name, seconds in (("bare", bare), ("publish", times.publishing), ("verify", times.verifying)):
                    rounds.setdefault(f"{kind} {name}", []).append(seconds)
    medians = {name: statistics.median(seconds) for name, seconds in rounds.items()}
    for kind in ("first", "following"):
        bare = medians[f"{kind} bare"]
        print(f"{kind} release: bare commit {bare:.2f} s, publish phase {medians[f'{kind} publish']:.2f} s,", end=" ")
        print(f"verify {medians[f'{kind} verify']:.2f} s (medians of {ROUNDS})")
        yield f"{kind} release, publish phase / bare commit", medians[f"{kind} publish"] / bare


def uploaded(traffic: Traffic) -> tuple[int, int]:
    """Return how many bytes of LFS objects came, and how many commits."""
    objects = sum(each.received for each in traffic.exchanges if each.endpoint in {"lfs-put", "lfs-part"})
    return objects, sum(each.endpoint == "commit" for each in traffic.exchanges)


def uploads(folder: Path) -> bool:
    """Release, release the same again, then with one other variant; return whether only what is new was uploaded."""
    made = plan()
    write_variants(folder / "files", made)
    with serving(folder) as running:
        for number, kind, allowed in (
            (0, "first", len(made.units) * BINARY),
            (0, "the same again", 0),
            (1, "", BINARY),
        ):
            if number:
                (folder / "files/build" / made.units[7].variant / "_scale.abi3.so").write_bytes(os.urandom(BINARY))
            running.traffic.clear()
            there = ApiHub(running.endpoint, Credential(token=WRITER, source="a benchmark"))
            what = wanted(folder / "files", made, number)
            publish(what, there, store=Store(folder / "dist"), emit=lambda _: None, credential="", keep_journal=False)
            size, commits = uploaded(running.traffic)
            print(f"{kind or 'one other variant'}: {size} bytes of objects uploaded, {commits} commits")
            if size != allowed or (kind == "the same again" and commits):
                return False
    return True


def main() -> int:
    """Print the figures and return 1 if a bound does not hold."""
    limit_requests()
    with tempfile.TemporaryDirectory(prefix="rocmatrix-bench-") as name:
        (Path(name) / "uploads").mkdir()
        good = uploads(Path(name) / "uploads")
        for what, ratio in time_ratios(Path(name)):
            print(f"{what}: {ratio:.2f} (at most {MOST})")
            good = good and ratio <= MOST
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
