"""Wheels of collected variants: valid, the same bytes each time, installed by pip and imported."""

import base64
import csv
import hashlib
import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace
from importlib.metadata import distribution
from pathlib import Path

import pytest
from auditwheel.architecture import Architecture  # type: ignore[import-untyped]
from auditwheel.libc import Libc  # type: ignore[import-untyped]
from auditwheel.wheel_abi import analyze_wheel_abi  # type: ignore[import-untyped]
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename
from packaging.version import Version

from rocmatrix.errors import InputError
from rocmatrix.events import Emit, Event, Notice, discard
from rocmatrix.records import AuditRecord, Finding, Severity, WaivedFinding
from rocmatrix.wheel.stage import MadeWheel, WheelRequest, make_wheels
from tests.golden.content import PROJECTS
from tests.system.conftest import StubBuilder, hip_soname
from tests.system.release_source import Source, make_source

ROOT = Path(__file__).parents[2]
SECONDS = 180
TAG = "v2.0.0"
VARIANT = "torch-stable-abi210-rocm72-x86_64-linux"


def make(source: Source, folder: Path, *, emit: Emit = discard, **request: object) -> dict[str, MadeWheel]:
    """Make wheels; return them by variant."""
    asked = WheelRequest(units=source.plan.units, folder=folder, **{"tag": TAG, **request})  # type: ignore[arg-type]
    made = make_wheels(source.plan, asked, source_root=source.root, store=source.store, emit=emit)
    return {wheel.unit.partition(".")[2]: wheel for wheel in made}


def test_every_variant_is_a_valid_wheel_with_the_files_that_were_collected(source: Source, tmp_path: Path) -> None:
    made = make(source, tmp_path)
    assert made.keys() == {unit.variant for unit in source.plan.units}
    for variant, wheel in made.items():
        path = Path(wheel.path)
        name, version, _, tags = parse_wheel_filename(path.name)
        with zipfile.ZipFile(path) as archive:
            content = {entry.filename: archive.read(entry) for entry in archive.infolist()}
            assert {entry.external_attr >> 16 for entry in archive.infolist()} == {0o100644}
        (info,) = {entry.partition("/")[0] for entry in content if ".dist-info/" in entry}
        assert info == f"{name}-{version}.dist-info"
        metadata = Metadata.from_email(content[f"{info}/METADATA"])  # raises unless it is valid
        assert (metadata.name, metadata.version, metadata.license_expression) == (name, version, "Apache-2.0")
        assert [str(tag) for tag in tags] == [
            line.partition(": ")[2] for line in content[f"{info}/WHEEL"].decode().splitlines() if line.startswith("Tag")
        ]
        rows = list(csv.reader(io.StringIO(content[f"{info}/RECORD"].decode())))
        assert {row[0] for row in rows} == content.keys()
        for path_in_wheel, digest, size in rows:
            if path_in_wheel != f"{info}/RECORD":
                sha = base64.urlsafe_b64encode(hashlib.sha256(content[path_in_wheel]).digest()).decode().rstrip("=")
                assert (digest, int(size)) == (f"sha256={sha}", len(content[path_in_wheel]))
        folder = source.store.variants_folder("scale") / variant
        collected = {f"scale/{file.relative_to(folder)}": file.read_bytes() for file in folder.rglob("*")}
        assert {name: data for name, data in content.items() if not name.startswith(info)} == collected


def test_the_same_variants_give_the_same_bytes(source: Source, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = make(source, tmp_path / "a"), make(source, tmp_path / "b")
    assert {wheel.digest for wheel in first.values()} == {wheel.digest for wheel in second.values()}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    dated = make(source, tmp_path / "c")[VARIANT]
    with zipfile.ZipFile(dated.path) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(2023, 11, 14, 22, 13, 20)}
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "yesterday")
    with pytest.raises(InputError, match="SOURCE_DATE_EPOCH is no whole number"):
        make(source, tmp_path / "d")
    assert not (tmp_path / "d").exists()


def test_auditwheel_finds_the_platform_that_the_tag_names(source: Source, tmp_path: Path) -> None:
    """HIP's runtime and torch's libraries come with torch, so that auditwheel is told to leave them out."""
    path = Path(make(source, tmp_path)[VARIANT].path)
    outside = frozenset({hip_soname(source.store.variants_folder("scale") / VARIANT)})
    found = analyze_wheel_abi(
        Libc.GLIBC, Architecture.x86_64, path, outside, disable_isa_ext_check=False, allow_graft=False
    )
    oldest = Version(found.overall_policy.name.removeprefix("manylinux_").removesuffix("_x86_64").replace("_", "."))
    assert oldest <= Version("2.28"), found.overall_policy.name
    assert "manylinux_2_28_x86_64" in path.name


def test_what_the_audit_let_pass_as_less_portable_is_tagged_so(tmp_path: Path) -> None:
    source = make_source(tmp_path / "made", rocms=["7.2"])
    (unit,) = source.plan.units
    audit = source.store.read_record(unit.id, AuditRecord)
    assert isinstance(audit, AuditRecord)
    high = Finding(
        rule="version-ceilings", severity=Severity.ERROR, what="GLIBC_2.34", where="x.so", fix="", source="a test"
    )
    waived = WaivedFinding(finding=high, reason="our machines are new", waiver="matrix.yaml:9")
    source.store.write_record(replace(audit, waived=(waived,)))
    said: list[Event] = []
    wheel = make(source, tmp_path / "wheels", emit=said.append)[VARIANT]
    assert wheel.path.endswith("-cp39-abi3-linux_x86_64.whl")
    assert [event.message for event in said if isinstance(event, Notice)] == [
        "needs newer system libraries than manylinux_2_28 has"
    ]


@pytest.mark.parametrize(
    ("line", "requirement"),
    [
        ("", "torch>=2.10"),
        ('minver = "2.11"\nmaxver = "2.13"\n', "torch>=2.11,<2.14"),
        ('maxver = "2.13"\n', "torch>=2.10,<2.14"),
    ],
)
def test_pip_is_told_which_torches_are_served(tmp_path: Path, line: str, requirement: str) -> None:
    source = make_source(tmp_path / "made", rocms=["7.2"])
    toml = PROJECTS["kernels/scale"].replace('stable-abi = "2.10"\n', f'stable-abi = "2.10"\n{line}')
    (source.project / "build.toml").write_text(toml)
    with zipfile.ZipFile(make(source, tmp_path / "wheels")[VARIANT].path) as archive:
        (name,) = [entry for entry in archive.namelist() if entry.endswith("METADATA")]
        asked = Metadata.from_email(archive.read(name)).requires_dist
    assert asked == [Requirement(requirement)]


def test_what_was_not_collected_or_changed_since_is_no_wheel(tmp_path: Path) -> None:
    source = make_source(tmp_path / "made")
    (source.store.variants_folder("scale") / VARIANT / "_ops.py").write_text("changed = True\n")
    with pytest.raises(InputError, match=r"_ops\.py changed since it was collected"):
        make(source, tmp_path / "wheels")
    assert not (tmp_path / "wheels").exists(), "not even that of the variant which did not change"
    source.store.discard_coverage("scale")
    with pytest.raises(InputError, match="nothing was collected: not collected yet"):
        make(source, tmp_path / "wheels")


# -- installed by pip ----------------------------------------------------------------------------------------------


def command(source: Source, *words: str) -> subprocess.CompletedProcess[str]:
    place = ("--matrix", str(source.root / "matrix.yaml"), "--out", str(source.store.root))
    return subprocess.run(
        [sys.executable, "-m", "rocmatrix", "wheel", *words, *place],
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )


IMPORT = """
import ctypes, sys
import torch
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
import scale
print(scale.__file__)
print(scale.ops)
"""


@pytest.mark.needs_llvm
@pytest.mark.needs_torch
def test_a_wheel_is_installed_into_a_fresh_environment_and_imported(
    source: Source, tmp_path: Path, hip_stub: StubBuilder
) -> None:
    """With a CPU torch and the stub of HIP's runtime: the extension is loaded and registers its ops."""
    done = command(source, "--tag", TAG, "--dest", str(tmp_path / "wheels"), "--json", "--only", "*rocm72*")
    assert done.returncode == 0, done.stderr
    (wheel,) = json.loads(done.stdout)["wheels"]
    home = tmp_path / "environment"
    subprocess.run([sys.executable, "-m", "virtualenv", "--quiet", "--no-download", home], check=True, timeout=SECONDS)
    (site,) = home.glob("lib/python*/site-packages")
    # The torch of the tests, as one that was installed before; what it asks for may lie in another folder.
    folders = {str(distribution(name).locate_file("")) for name in ("torch", "filelock")}
    (site / "torch.pth").write_text("".join(f"{folder}\n" for folder in sorted(folders)))
    pip = [str(home / "bin/pip"), "install", "--no-index", "--find-links", str(tmp_path / "wheels"), "--quiet"]
    alone = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}

    def install(requirement: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*pip, requirement], env=alone, capture_output=True, text=True, check=False, timeout=SECONDS
        )

    installed = install(wheel["requirement"])
    assert installed.returncode == 0, installed.stderr
    stub = hip_stub(hip_soname(source.store.variants_folder("scale") / VARIANT))
    ran = subprocess.run(
        [home / "bin/python", "-I", "-c", IMPORT, stub],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=SECONDS,
    )
    assert ran.returncode == 0, ran.stderr
    place, ops = ran.stdout.splitlines()
    assert Path(place).is_relative_to(site)
    assert "_scale_rocm_5ca1e000" in ops
    other = install(wheel["requirement"].replace("rocm7.2", "rocm7.1"))
    assert other.returncode == 1, "a wheel of another ROCm is none that was asked for"


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("--tag", "v3.0.0"), 2, "is of major version 3"),
        (("--tag", TAG, "--only", "nothing*"), 2, "matches no unit"),
        (("--tag", TAG, "--name", "not a name"), 2, "names no distribution"),
        (("--name", "acme-scale", "--dest", "{}"), 0, "pip install 'acme-scale==2.dev0+rocm7.2.torch2.10.stable'"),
    ],
)
def test_the_command_line_says_what_is_wrong_and_how_to_install(
    source: Source, tmp_path: Path, words: tuple[str, ...], code: int, said: str
) -> None:
    done = command(source, *(word.format(tmp_path) for word in words))
    assert (done.returncode, said in done.stdout + done.stderr) == (code, True), done.stdout + done.stderr
