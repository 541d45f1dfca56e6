"""Pins resolved against servers of the tests' own, which speak as the real ones are documented to."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import json
import lzma
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import msgspec
import pytest
import zstandard

from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.building import require_resolved
from rocmatrix.images.loading import load_recipe, pins_path
from rocmatrix.images.pinning import unpacking
from rocmatrix.images.pinning.resolve import Asking, Outcome, Resolved, resolve
from rocmatrix.images.pinning.rpms import Rpm, newest
from rocmatrix.images.pinning.web import Web
from rocmatrix.images.pinning.write import written
from rocmatrix.images.pins import PinKind
from rocmatrix.images.recipe_file import BaseEntry, PinsEntry, PinsFile, read_pins_file
from rocmatrix.plan.matrix_model import SHIPPED

ROOT = Path(__file__).parents[3]
TODAY = "2026-12-01"
INDEX = {
    "mediaType": "application/vnd.oci.image.index.v1+json",
    "manifests": [{"platform": {"os": "linux", "architecture": "amd64"}, "digest": "sha256:" + "a" * 64}],
}
ARM = {"manifests": [{"platform": {"os": "linux", "architecture": "arm64"}, "digest": "sha256:" + "b" * 64}]}


class Site(dict[str, bytes]):
    """Documents by path; ``token`` is what a registry wants, ``asked`` what was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.token: str | None = None
        self.asked: list[str] = []
        self.types: dict[str, str] = {}
        self.host = ""


@pytest.fixture
def site() -> Iterator[Site]:
    with _served(Site()) as made:
        yield made


@contextmanager
def _served(site: Site) -> Iterator[Site]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append(self.path)
            path = self.path.partition("?")[0]
            if site.token and path.startswith("/v2/") and self.headers["Authorization"] != f"Bearer {site.token}":
                self.send_response(401)
                challenge = f'Bearer realm="http://{site.host}/token",service="s",scope="repository:x:pull"'
                self.send_header("WWW-Authenticate", challenge)
                self.end_headers()
                return
            content = site.get(path)
            self.send_response(200 if content is not None else 404)
            self.send_header("Content-Type", site.types.get(path, "text/html"))
            self.end_headers()
            self.wfile.write(content or b"")

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    site.host = f"127.0.0.1:{server.server_address[1]}"
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _base(site: Site, digest: str | None = None) -> BaseEntry:
    reference = f"{site.host}/library/base:1"
    return BaseEntry(name="base", reference=reference, digest=digest, source="us", date="2026-01", verified=False)


def _set(kind: PinKind, address: str, **packages: str) -> PinsEntry:
    named = {name.replace("_", "-"): version for name, version in packages.items()}
    return PinsEntry(
        name="set", kind=kind, address=address, source="us", date="2026-01", verified=False, packages=named
    )


def _asking(*, upgrade: bool = False) -> Asking:
    return Asking(web=Web(), today=TODAY, say=lambda _: None, upgrade=upgrade)


def _resolve_base(base: BaseEntry, *, upgrade: bool = False) -> tuple[BaseEntry, Resolved]:
    pins, (said,) = resolve(PinsFile(schema=1, bases=(base,)), _asking(upgrade=upgrade))
    return pins.bases[0], said


def _resolve_set(one: PinsEntry) -> tuple[PinsEntry, Resolved]:
    pins, (said,) = resolve(PinsFile(schema=1, sets=(one,)), _asking())
    return pins.sets[0], said


def _digest_of(document: object) -> tuple[bytes, str]:
    content = json.dumps(document).encode()
    return content, f"sha256:{hashlib.sha256(content).hexdigest()}"


def test_a_base_gets_the_digest_of_its_tag_with_a_token_where_the_registry_wants_one(site: Site) -> None:
    content, digest = _digest_of(INDEX)
    site["/v2/library/base/manifests/1"] = content
    site["/token"] = b'{"token": "t0"}'
    site.token = "t0"  # noqa: S105 - as the line above serves it
    made, said = _resolve_base(_base(site))
    assert (made.digest, made.verified, made.date) == (digest, True, TODAY)
    assert said.outcome is Outcome.CHANGED
    assert "/token?service=s&scope=repository%3Ax%3Apull" in site.asked


def test_a_base_whose_digest_is_still_there_keeps_it(site: Site) -> None:
    content, digest = _digest_of(INDEX)
    site[f"/v2/library/base/manifests/{digest}"] = content
    site["/v2/library/base/manifests/1"] = b'{"another": "one"}'
    made, said = _resolve_base(_base(site, digest))
    assert (made.digest, made.verified, said.outcome) == (digest, True, Outcome.CONFIRMED)


def test_a_base_moves_to_its_tag_where_that_is_asked_for_and_keeps_its_digest_where_it_cannot(site: Site) -> None:
    content, old = _digest_of(INDEX)
    site[f"/v2/library/base/manifests/{old}"] = content
    stayed, said = _resolve_base(_base(site, old), upgrade=True)
    assert (stayed.digest, stayed.verified, said.outcome) == (old, False, Outcome.REFUSED)
    site["/v2/library/base/manifests/1"], new = _digest_of({**INDEX, "annotations": {}})
    moved, said = _resolve_base(_base(site, old), upgrade=True)
    assert (moved.digest, said.detail) == (new, f"digest: {old} -> {new}")


def test_a_base_that_is_gone_or_for_other_machines_stays_unverified(site: Site) -> None:
    gone, said = _resolve_base(_base(site))
    assert (gone.verified, said.outcome) == (False, Outcome.REFUSED)
    assert "answers 404" in said.detail
    site["/v2/library/base/manifests/1"] = _digest_of(ARM)[0]
    arm, said = _resolve_base(_base(site))
    assert not arm.verified
    assert "not there for linux/amd64" in said.detail


def _repository(site: Site, folder: str, *packages: tuple[str, str, str, str]) -> str:
    """Serve a repository of ``(name, version, release, sha256)``."""
    rows = "".join(
        f'<package type="rpm"><name>{name}</name><arch>x86_64</arch>'
        f'<version epoch="0" ver="{version}" rel="{release}"/>'
        f'<checksum type="sha256" pkgid="YES">{sha}</checksum>'
        f'<location href="Packages/{name}-{version}-{release}.x86_64.rpm"/></package>'
        for name, version, release, sha in packages
    )
    primary = gzip.compress(f'<metadata xmlns="http://linux.duke.edu/metadata/common">{rows}</metadata>'.encode())
    sha = hashlib.sha256(primary).hexdigest()
    site[f"/{folder}/repodata/{sha}-primary.xml.gz"] = primary
    site[f"/{folder}/repodata/repomd.xml"] = (
        '<?xml version="1.0"?><repomd xmlns="http://linux.duke.edu/metadata/repo"><data type="primary">'
        f'<checksum type="sha256">{sha}</checksum><location href="repodata/{sha}-primary.xml.gz"/></data></repomd>'
    ).encode()
    return f"http://{site.host}/{folder}"


def test_files_of_a_repository_are_confirmed_by_their_sha256(site: Site) -> None:
    address = _repository(site, "rocm", ("hipcc", "1.1.1", "93.el8", "c" * 64))
    made, said = _resolve_set(_rpm_set(address, "c" * 64))
    assert (made.verified, said.outcome) == (True, Outcome.CONFIRMED)


def _rpm_set(address: str, sha256: str) -> PinsEntry:
    return msgspec.structs.replace(_set(PinKind.RPM, address, x=""), packages={"hipcc-1.1.1-93.el8.x86_64.rpm": sha256})


def test_a_file_with_another_sha256_is_refused_and_never_taken_instead(site: Site) -> None:
    address = _repository(site, "rocm", ("hipcc", "1.1.1", "93.el8", "d" * 64))
    made, said = _resolve_set(_rpm_set(address, "c" * 64))
    assert (made.verified, said.outcome) == (False, Outcome.REFUSED)
    assert "is not the file that was pinned" in said.detail
    assert list(made.packages.values()) == ["c" * 64]


def test_packages_of_which_only_the_name_is_known_get_their_newest_file_and_its_sha256(site: Site) -> None:
    """The image of almalinux for ROCm 6.2.4, as it comes with rocmatrix, on a repository of its names."""
    source = pins_path("almalinux", ROOT)
    shipped = next(one for one in read_pins_file(source).sets if one.name == "rocm-6.2.4")
    older = [(name, "1.0", "9.el8", "e" * 64) for name in shipped.packages]
    newer = [(name, "1.0", "10.el8", "f" * 64) for name in shipped.packages]
    other = [(f"{name}6.2.4", "2.0", "1.el8", "0" * 64) for name in shipped.packages]
    address = _repository(site, "rocm", *newer, *older, *other)
    made, said = _resolve_set(msgspec.structs.replace(shipped, address=address))
    assert made.packages == {f"{name}-1.0-10.el8.x86_64.rpm": "f" * 64 for name in shipped.packages}
    assert (made.verified, said.outcome) == (True, Outcome.CHANGED)
    assert f"hipcc-1.0-10.el8.x86_64.rpm: none -> {'f' * 64}" in said.detail
    again, said = _resolve_set(made)
    assert (again.packages, said.outcome) == (made.packages, Outcome.CONFIRMED)


def test_a_package_of_a_name_that_the_repository_lacks_leaves_the_set_as_it_was(site: Site) -> None:
    one = _set(PinKind.RPM, _repository(site, "rocm", ("hipcc", "1.1.1", "93.el8", "c" * 64)), hipcc="", comgr="")
    made, said = _resolve_set(one)
    assert (made, said.outcome) == (one, Outcome.REFUSED)
    assert "the repository has no comgr" in said.detail


def test_an_image_is_refused_until_its_pins_are_resolved(site: Site, tmp_path: Path) -> None:
    args = {"ROCM_VERSION": "6.2.4"}
    recipe = load_recipe("almalinux", args, rocm="6.2", root=tmp_path)
    with pytest.raises(MissingRequirementError, match=r"images pin almalinux`") as refused:
        require_resolved(recipe)
    assert "no file and no SHA-256 is known of 16 packages of the set rocm-6.2.4" in str(refused.value)
    pins = read_pins_file(pins_path("almalinux", ROOT))
    (odd,) = [one for one in pins.sets if one.name == "rocm-6.2.4"]
    packages = [(name, "1.0", "9.el8", "e" * 64) for name in odd.packages]
    made, _ = _resolve_set(msgspec.structs.replace(odd, address=_repository(site, "rocm", *packages)))
    sets = tuple(made if one.name == odd.name else one for one in pins.sets)
    place = tmp_path / "containers" / "almalinux" / "pins.toml"
    place.parent.mkdir(parents=True)
    place.write_text(written(msgspec.structs.replace(pins, sets=sets)))
    require_resolved(load_recipe("almalinux", args, rocm="6.2", root=tmp_path))


def test_metadata_of_two_states_is_refused(site: Site) -> None:
    address = _repository(site, "rocm", ("hipcc", "1.1.1", "93.el8", "c" * 64))
    (listed,) = [path for path in site if path.endswith("primary.xml.gz")]
    site[listed] = gzip.compress(b"<metadata/>")
    _, said = _resolve_set(_rpm_set(address, "c" * 64))
    assert "not the one that repomd.xml names" in said.detail


def test_packages_of_a_distribution_get_the_newest_version_of_any_repository(site: Site) -> None:
    one = _repository(site, "base", ("ninja-build", "1.8.2", "1.el8", "c" * 64), ("file", "5.33", "25.el8", "c" * 64))
    two = _repository(site, "power", ("ninja-build", "1.10.0", "1.el8", "c" * 64))
    made, said = _resolve_set(_set(PinKind.DNF, f"{one} {two}", ninja_build="", file="5.33-25.el8"))
    assert made.packages == {"ninja-build": "1.10.0-1.el8", "file": "5.33-25.el8"}
    assert (said.outcome, said.detail) == (Outcome.CHANGED, "ninja-build: none -> 1.10.0-1.el8")


@pytest.mark.parametrize(
    ("older", "newer"),
    [("1.9", "1.10"), ("1.0~rc1", "1.0"), ("1.0", "1.0.1"), ("1.0a", "1.0b"), ("1.0a", "1.0.1"), ("2", "10")],
)
def test_versions_are_ordered_as_rpm_orders_them(older: str, newer: str) -> None:
    packages = [Rpm(name="x", evr=("0", version, "1"), file=version, sha256="") for version in (newer, older)]
    found = newest(packages, "x")
    assert found is not None
    assert found.file == newer


def test_debian_packages_get_the_version_of_the_suite(site: Site) -> None:
    text = "Package: hipcc\nVersion: 5.7.1-7\nDescription: a\n more: words\n\nPackage: file\nVersion: 1\n\n"
    site["/debian/dists/trixie/main/binary-amd64/Packages.xz"] = lzma.compress(text.encode())
    made, said = _resolve_set(_set(PinKind.APT, f"http://{site.host}/debian trixie main", hipcc="5.7.1-6"))
    assert (made.packages, said.detail) == ({"hipcc": "5.7.1-7"}, "hipcc: 5.7.1-6 -> 5.7.1-7")
    _, said = _resolve_set(_set(PinKind.APT, f"http://{site.host}/debian trixie main", nothing="1"))
    assert "the archive has no nothing" in said.detail
    _, said = _resolve_set(_set(PinKind.APT, f"http://{site.host}/debian", hipcc="1"))
    assert "URL SUITE COMPONENT" in said.detail


def test_python_packages_get_the_hashes_of_files_for_this_platform(site: Site) -> None:
    names = {
        "rocm_sdk_core-7.14.1-py3-none-linux_x86_64.whl": "1" * 64,
        "rocm_sdk_core-7.14.1-py3-none-win_amd64.whl": "2" * 64,
        "rocm_sdk_core-7.14.10-py3-none-linux_x86_64.whl": "3" * 64,
    }
    links = "".join(f'<a href="../files/{name}#sha256={sha}">{name}</a>' for name, sha in names.items())
    site["/simple/rocm-sdk-core/"] = f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
    files = [{"filename": "rocm-7.14.1.tar.gz", "hashes": {"sha256": "4" * 64}, "url": "x"}]
    site["/simple/rocm/"] = json.dumps({"files": files}).encode()
    site.types["/simple/rocm/"] = "application/vnd.pypi.simple.v1+json"
    address = f"http://{site.host}/simple/"
    made, _ = _resolve_set(_set(PinKind.PIP, address, rocm_sdk_core="7.14.1", rocm="7.14.1"))
    assert made.packages == {
        "rocm-sdk-core": f"7.14.1 --hash=sha256:{'1' * 64}",
        "rocm": f"7.14.1 --hash=sha256:{'4' * 64}",
    }
    again, said = _resolve_set(made)
    assert (again.packages, said.outcome) == (made.packages, Outcome.CONFIRMED)
    site["/simple/rocm/"] = site["/simple/rocm/"].replace(b"sha256", b"md5")
    _, said = _resolve_set(made)
    assert "states no SHA-256" in said.detail


PORTAL = b"<html>Log in to this network</html>"


@pytest.mark.parametrize("content", [PORTAL, b"[]", b"\xfd7zXZ\x00 cut off"])
def test_an_answer_of_another_form_is_refused_with_its_place(site: Site, content: bytes) -> None:
    site["/v2/library/base/manifests/1"] = site["/dists/trixie/main/binary-amd64/Packages.xz"] = content
    site["/simple/pip/"], site.types["/simple/pip/"] = content, "application/vnd.pypi.simple.v1+json"
    asked = [
        _resolve_base(_base(site))[1],
        _resolve_set(_set(PinKind.APT, f"http://{site.host} trixie main", hipcc="1"))[1],
        _resolve_set(_set(PinKind.PYPI, f"http://{site.host}/simple", pip="26.1"))[1],
    ]
    assert [one.outcome for one in asked] == [Outcome.REFUSED] * 3
    assert all("the answer cannot be read" in one.detail and site.host in one.detail for one in asked)


@pytest.mark.parametrize("kind", [PinKind.APT, PinKind.DNF])
def test_a_list_that_unpacks_to_more_than_any_has_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch, kind: PinKind
) -> None:
    monkeypatch.setattr(unpacking, "LARGEST_UNPACKED", 1 << 20)
    addresses = {
        PinKind.APT: f"http://{site.host}/debian trixie main",
        PinKind.DNF: _repository(site, "rocm", ("hipcc" * (1 << 18), "1", "1", "c" * 64)),
    }
    site["/debian/dists/trixie/main/binary-amd64/Packages.xz"] = lzma.compress(b"Package: hipcc\n\n" * (1 << 17))
    _, said = _resolve_set(_set(kind, addresses[kind], hipcc=""))
    assert said.outcome is Outcome.REFUSED
    assert "is larger than 1 MB when it is unpacked" in said.detail


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress, zstandard.compress, bytes])
def test_every_form_of_a_list_is_unpacked_whole_also_in_several_pieces(pack: Callable[[bytes], bytes]) -> None:
    assert unpacking.unpacked(pack(b"a" * 100_000) + pack(b"b"), "here") == b"a" * 100_000 + b"b"


def test_a_server_that_is_away_leaves_the_pin_as_it_was() -> None:
    one = _set(PinKind.APT, "http://127.0.0.1:9/debian trixie main", hipcc="1")
    made, said = _resolve_set(one)
    assert made == one
    assert said.outcome is Outcome.REFUSED
    assert "cannot be reached" in said.detail


def test_a_verified_set_that_names_no_place_is_kept_and_an_unverified_one_is_refused() -> None:
    one = msgspec.structs.replace(_set(PinKind.PYPI, "", ninja="1"), verified=True)
    assert _resolve_set(one)[1].outcome is Outcome.KEPT
    assert _resolve_set(msgspec.structs.replace(one, verified=False))[1].outcome is Outcome.REFUSED


@pytest.mark.parametrize("name", SHIPPED)
def test_a_written_file_is_read_as_the_same_pins_and_gives_the_same_recipes(name: str, tmp_path: Path) -> None:
    source = pins_path(name, ROOT)
    pins = read_pins_file(source)
    place = tmp_path / "containers" / name / "pins.toml"
    place.parent.mkdir(parents=True)
    place.write_text(written(pins, "# ours\n# too\nschema = 1\n"))
    assert read_pins_file(place) == pins
    assert place.read_text().startswith("# ours\n# too\nschema = 1\n")
    args = {"debian": {"SUITE": "forky"}, "almalinux": {"ROCM_VERSION": "7.2.4"}, "therock": {"ROCM_VERSION": "10.0.0"}}
    here = load_recipe(name, args[name], rocm=None, root=ROOT)
    assert load_recipe(name, args[name], rocm=None, root=tmp_path).digest == here.digest
