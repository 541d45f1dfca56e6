"""Real wheels for the index of a test: a tiny package, and the pip that runs these tests."""

import base64
import hashlib
import io
import zipfile
from collections.abc import Iterable, Mapping
from importlib.metadata import distribution


def tiny_wheel(version: str, *, padding: int = 0) -> tuple[str, bytes]:
    """Return file name and content of a pure wheel of the package ``tiny``; ``padding`` bytes of it do not compress."""
    filler = b"".join(hashlib.sha256(bytes([i % 256, i // 256])).digest() for i in range(padding // 32))
    return wheel("tiny", version, files={"tiny/filler.bin": filler})


def wheel(
    name: str, version: str, *, requires: Iterable[str] = (), files: Mapping[str, bytes] | None = None
) -> tuple[str, bytes]:
    """Return file name and content of a pure wheel that knows its version, asks for packages and has more files."""
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {requirement}\n" for requirement in requires)
    content = {
        f"{name}/__init__.py": f"VERSION = {version!r}\n".encode(),
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    return f"{name}-{version}-py3-none-any.whl", _pack(content | dict(files or {}), info)


def pip_wheel() -> tuple[str, bytes, str]:
    """Return file name, content and version of a wheel made from the pip installed beside these tests."""
    pip = distribution("pip")
    info = f"pip-{pip.version}.dist-info"
    left_out = {f"{info}/{name}" for name in ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json")}
    files = {
        str(path): path.read_binary()
        for path in pip.files or []
        if path.parts[0] in {"pip", info} and path.suffix != ".pyc" and str(path) not in left_out
    }
    return f"pip-{pip.version}-py3-none-any.whl", _pack(files, info), pip.version


def _pack(files: dict[str, bytes], info: str) -> bytes:
    record = "".join(f"{name},sha256={_urlsafe(content)},{len(content)}\n" for name, content in files.items())
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr(f"{info}/RECORD", f"{record}{info}/RECORD,,\n")
    return buffer.getvalue()


def _urlsafe(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
