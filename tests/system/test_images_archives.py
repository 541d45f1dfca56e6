"""Package archives as builds of images meet them: expired metadata, and certificates that the site itself made."""

from __future__ import annotations

import datetime as dt
import hashlib
import ipaddress
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from rocmatrix.errors import MissingRequirementError
from rocmatrix.images.image import ensure_image
from rocmatrix.images.options import BuildOptions
from tests.system.docker_bed import Bed
from tests.system.image_recipes import make_recipe
from tests.system.test_images import _name, recipes

__all__ = ["recipes"]
pytestmark = pytest.mark.needs_debian_images
LONG_AGO = dt.datetime(2022, 1, 1, tzinfo=dt.UTC)


def _archive(folder: Path, until: dt.datetime) -> None:
    """Write an archive of Debian packages without packages whose metadata is valid until a time."""
    packages = folder / "dists" / "x" / "main" / "binary-amd64" / "Packages"
    packages.parent.mkdir(parents=True)
    packages.write_bytes(b"")
    empty = hashlib.sha256(b"").hexdigest()
    form = "%a, %d %b %Y %H:%M:%S UTC"
    (folder / "dists" / "x" / "Release").write_text(
        f"Origin: x\nSuite: x\nCodename: x\nDate: {LONG_AGO.strftime(form)}\nValid-Until: {until.strftime(form)}\n"
        f"Architectures: amd64\nComponents: main\nSHA256:\n {empty} 0 main/binary-amd64/Packages\n"
    )


@contextmanager
def _served(folder: Path, tls: ssl.SSLContext | None = None) -> Iterator[str]:
    """Serve a folder on this machine and give the address."""

    class Handler(SimpleHTTPRequestHandler):
        def __init__(self, *arguments: object, **_more: object) -> None:
            super().__init__(*arguments, directory=str(folder))  # type: ignore[arg-type]

        def log_message(self, *_arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http{'s' if tls else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _update(address: str) -> str:
    """Return a command that takes the lists of an archive and accepts them without a signature."""
    source = f"deb [trusted=yes] {address} x main"
    return (
        f"rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/* && echo '{source}' >/etc/apt/sources.list"
        " && test ! -s /context/extra.crt || echo 'Acquire::https::CAInfo \"/context/extra.crt\";' >/etc/apt/apt.conf"
        " && apt-get -o Acquire::Retries=0 -o APT::Sandbox::User=root update --error-on=any && mkdir /made"
    )


def test_an_archive_whose_metadata_expired_is_told_with_what_to_do(
    docker_engine: Bed, debian_bases: Mapping[str, str], recipes: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    _archive(folder, LONG_AGO + dt.timedelta(days=1))
    with _served(folder) as address:
        recipe = make_recipe(recipes, debian_bases["trixie"], name=_name(), command=_update(address))
        with pytest.raises(MissingRequirementError, match=r"Dockerfile:4: .*metadata .* is expired") as told:
            ensure_image(docker_engine.client, recipe, BuildOptions(builder="classic", network="host"))
    assert "Check-Valid-Until" in str(told.value)


def test_a_certificate_of_the_site_is_told_and_taken_when_it_is_given(
    docker_engine: Bed, debian_bases: Mapping[str, str], recipes: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("archive")
    _archive(folder, dt.datetime(2222, 1, 1, tzinfo=dt.UTC))
    bundle = tmp_path_factory.mktemp("certificates") / "site.crt"
    with _served(folder, _self_signed(bundle)) as address:
        recipe = make_recipe(recipes, debian_bases["trixie"], name=_name(), command=_update(address))
        with pytest.raises(MissingRequirementError, match=r"Dockerfile:4: .*certificate is not trusted") as told:
            ensure_image(docker_engine.client, recipe, BuildOptions(builder="classic", network="host"))
        assert "--ca-bundle FILE" in str(told.value)
        options = BuildOptions(builder="classic", network="host", certificates=bundle)
        assert ensure_image(docker_engine.client, recipe, options).recipe_digest == recipe.digest


def _self_signed(bundle: Path) -> ssl.SSLContext:
    """Write the certificate of an authority of the site's own, and return the context of its server."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(tz=dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=30))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    bundle.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = bundle.with_suffix(".key")
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(bundle, private)
    return context
