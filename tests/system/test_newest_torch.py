"""The action that installs the newest torch: pip takes the newest of the named index alone, and the locked client."""

import os
import re
import subprocess
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / ".github/actions/newest-torch/install.sh"


def locked_client() -> str:
    found = re.search(r"^kernels==(\S+)", (ROOT / "requirements/release.txt").read_text(), re.MULTILINE)
    assert found
    return found[1]


def write_wheel(index: Path, name: str, version: str) -> None:
    """Put a wheel with one module into an index, as a folder of links that pip reads from the disk."""
    folder = index / name
    folder.mkdir(parents=True, exist_ok=True)
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}/__init__.py": f'__version__ = "{version}"\n',
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: a test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in (*files, f"{info}/RECORD"))
    wheel = f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(folder / wheel, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    links = "".join(f'<a href="{path.name}">{path.name}</a>\n' for path in sorted(folder.glob("*.whl")))
    (folder / "index.html").write_text(links)


def test_the_newest_torch_of_the_index_is_installed_beside_the_locked_client(tmp_path: Path) -> None:
    torches, others = tmp_path / "torches", tmp_path / "others"
    for version in ("2.9.0", "2.15.1", "2.14.0"):
        write_wheel(torches, "torch", version)
    write_wheel(others, "torch", "9.0.0")  # another index has a higher one, which is not asked
    for version in (locked_client(), "99.0"):
        write_wheel(others, "kernels", version)
    output = tmp_path / "output"
    done = subprocess.run(
        ["bash", str(SCRIPT)],
        env={
            "PATH": os.environ["PATH"],
            "HOME": str(tmp_path),
            "PIP_CONFIG_FILE": os.devnull,
            "PIP_INDEX_URL": others.as_uri(),
            "INDEX": torches.as_uri(),
            "GITHUB_ACTION_PATH": str(SCRIPT.parent),
            "GITHUB_OUTPUT": str(output),
            "RUNNER_TEMP": str(tmp_path / "temp"),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "torch 2.15.1"
    python = output.read_text().removeprefix("python=").strip()
    shown = subprocess.run(
        [python, "-c", "import kernels, torch; print(kernels.__version__, torch.__version__)"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert shown.stdout.split() == [locked_client(), "2.15.1"]
