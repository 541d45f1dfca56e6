"""The assets of a GitHub release are those of the kernel that its tag releases, and of no other in the repository."""

import hashlib
import os
import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / ".github/actions/github-release/assets.sh"


def assets(tmp_path: Path, tag: str, *kernels: str) -> tuple[int, str, list[str]]:
    """Run the script over a set with these kernels; return exit code, complaint and names of assets."""
    for name in kernels:
        variant = tmp_path / "dist/kernels" / name / "build/torch-rocm"
        variant.mkdir(parents=True)
        (variant / "__init__.py").write_text(name)
        for file in ("coverage.json", "sbom.cdx.json"):
            (tmp_path / "dist/kernels" / name / file).write_text(f"{name} {file}")
    variables = {
        "PATH": os.environ["PATH"],
        "TAG": tag,
        "SET": "dist",
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_OUTPUT": str(tmp_path / "output"),
    }
    command = ["bash", str(SCRIPT)]
    done = subprocess.run(command, cwd=tmp_path, env=variables, capture_output=True, text=True, check=False, timeout=60)
    folder = tmp_path / "release-assets"
    return done.returncode, done.stderr, sorted(path.name for path in folder.glob("*"))


@pytest.mark.parametrize(
    ("tag", "kernels", "released"),
    [
        ("v1.0.0", ("gemm",), "gemm"),
        ("gemm-v1.0.0", ("gemm", "norm"), "gemm"),
        ("gemm-v2-v1.0.0", ("gemm", "gemm-v2"), "gemm-v2"),
        ("gemm-v1.0.0", ("gemm", "gemm-v2"), "gemm"),
    ],
)
def test_files_of_the_released_kernel_alone_are_listed(
    tmp_path: Path, tag: str, kernels: tuple[str, ...], released: str
) -> None:
    code, said, names = assets(tmp_path, tag, *kernels)
    assert code == 0, said
    assert names == ["checksums.txt", f"coverage-{released}.json", f"sbom-{released}.cdx.json"]
    digest = hashlib.sha256(released.encode()).hexdigest()
    listed = (tmp_path / "release-assets/checksums.txt").read_text()
    assert listed == f"{digest}  {released}/build/torch-rocm/__init__.py\n"
    assert (tmp_path / "output").read_text() == f"folder={tmp_path}/release-assets\n"


@pytest.mark.parametrize("kernels", [(), ("gemm", "norm")])
def test_a_tag_that_releases_nothing_of_the_set_is_refused(tmp_path: Path, kernels: tuple[str, ...]) -> None:
    code, said, names = assets(tmp_path, "v1.0.0", *kernels)
    assert (code, names) == (7, [])
    assert "v1.0.0 is of no kernel" in said
