"""A private Sigstore for tests: certificate authority, certificate log, transparency log, and GitHub's token provider.

The protocols are those of Fulcio v2, Rekor v1 and RFC 6962, as far as the real ``sigstore`` library asks for them; keys
are made anew. What is not here: a witness, a consistent Merkle tree of more than one entry, a timestamp authority.
"""

import base64
import datetime as dt
import hashlib
import json
import os
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

GITHUB = "https://token.actions.githubusercontent.com"
REPOSITORY = "acme/kernels"
WORKFLOW = f"https://github.com/{REPOSITORY}/.github/workflows/release.yml@refs/tags/v2.0.0"
REQUEST_TOKEN = "request-token-that-nobody-may-see"  # noqa: S105 - of nothing real
_SCT_LIST = x509.ObjectIdentifier("1.3.6.1.4.1.11129.2.4.2")
_START = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)


def _spki(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def _octets(value: bytes, tag: int) -> bytes:
    """Return a DER value of a tag; shorter than 64 KiB."""
    length = bytes([len(value)]) if len(value) < 128 else b"\x82" + struct.pack(">H", len(value))
    return bytes([tag]) + length + value


@dataclass
class Sigstore:
    """Keys, and what was asked.

    Attributes:
        workflow: whom certificates name.
        sources: the repository whose run it is, as OWNER/NAME.
        refusals: statuses that the next requests of an endpoint end with: ``certificate``, ``log`` or ``token``.
        asked: endpoints in the order in which they were asked.
    """

    workflow: str = WORKFLOW
    sources: str = REPOSITORY
    refusals: dict[str, list[int]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    address: str = ""

    def __post_init__(self) -> None:
        self._keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "ct", "log")}
        self._root = self._authority()

    # -- certificates --------------------------------------------------------------------------------------------

    def _authority(self) -> x509.Certificate:
        name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a private Sigstore")])
        key = self._keys["ca"]
        usage = dict.fromkeys(
            (
                "digital_signature",
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(_START)
            .not_valid_after(_START + dt.timedelta(days=36500))
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(x509.KeyUsage(key_cert_sign=True, crl_sign=True, **usage), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
            .sign(key, hashes.SHA256())
        )

    def certificate(self, request: bytes) -> list[str]:
        """Return a certificate for ten minutes and its chain, as PEM."""
        public = x509.load_pem_x509_csr(request).public_key()
        now = dt.datetime.now(dt.UTC).replace(microsecond=0)
        usage = dict.fromkeys(
            (
                "content_commitment",
                "key_encipherment",
                "data_encipherment",
                "key_agreement",
                "key_cert_sign",
                "crl_sign",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        assert isinstance(public, ec.EllipticCurvePublicKey)
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([]))
            .issuer_name(self._root.subject)
            .public_key(public)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now)
            .not_valid_after(now + dt.timedelta(minutes=10))
            .add_extension(x509.KeyUsage(digital_signature=True, **usage), critical=True)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CODE_SIGNING]), critical=False)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._keys["ca"].public_key()), critical=False
            )
            .add_extension(x509.SubjectAlternativeName([x509.UniformResourceIdentifier(self.workflow)]), critical=True)
        )
        texts = {1: GITHUB.encode(), 8: _octets(GITHUB.encode(), 0x0C), 9: _octets(self.workflow.encode(), 0x0C)}
        texts[12] = _octets(f"https://github.com/{self.sources}".encode(), 0x0C)
        for number, value in texts.items():
            oid = x509.ObjectIdentifier(f"1.3.6.1.4.1.57264.1.{number}")
            builder = builder.add_extension(x509.UnrecognizedExtension(oid, value), critical=False)
        tbs = builder.sign(self._keys["ca"], hashes.SHA256()).tbs_certificate_bytes
        seen = x509.UnrecognizedExtension(_SCT_LIST, _octets(self._seen(tbs), 0x04))
        leaf = builder.add_extension(seen, critical=False).sign(self._keys["ca"], hashes.SHA256())
        return [each.public_bytes(serialization.Encoding.PEM).decode() for each in (leaf, self._root)]

    def _seen(self, tbs: bytes) -> bytes:
        """Return what the certificate log says of a precertificate: a list of one timestamp (RFC 6962, 3.2 and 3.3)."""
        when = int(dt.datetime.now(dt.UTC).timestamp() * 1000)
        issuer = hashlib.sha256(_spki(self._keys["ca"])).digest()
        length = struct.pack(">I", len(tbs))[1:]
        signed = struct.pack(">BBQH", 0, 0, when, 1) + issuer + length + tbs + struct.pack(">H", 0)
        signature = self._keys["ct"].sign(signed, ec.ECDSA(hashes.SHA256()))
        log = hashlib.sha256(_spki(self._keys["ct"])).digest()
        one = b"\0" + log + struct.pack(">QHBBH", when, 0, 4, 3, len(signature)) + signature
        return struct.pack(">HH", len(one) + 2, len(one)) + one

    # -- the transparency log ------------------------------------------------------------------------------------

    def entry(self, proposed: dict[str, Any], number: int) -> dict[str, Any]:
        """Return what Rekor answers to an entry: proof, checkpoint and promise."""
        body = json.dumps(proposed, separators=(",", ":"), sort_keys=True).encode()
        root = hashlib.sha256(b"\0" + body).digest()
        key = self._keys["log"]
        log = hashlib.sha256(_spki(key)).digest()
        note = f"private log\n1\n{base64.b64encode(root).decode()}\n"
        mark = base64.b64encode(log[:4] + key.sign(note.encode(), ec.ECDSA(hashes.SHA256()))).decode()
        when = int(dt.datetime.now(dt.UTC).timestamp())
        promised = {"body": base64.b64encode(body).decode(), "integratedTime": when, "logID": log.hex()}
        promised["logIndex"] = number
        canonical = json.dumps(promised, separators=(",", ":"), sort_keys=True).encode()
        proof = {"logIndex": 0, "rootHash": root.hex(), "treeSize": 1, "hashes": []}
        proof["checkpoint"] = f"{note}\n\u2014 private {mark}\n"
        promise = base64.b64encode(key.sign(canonical, ec.ECDSA(hashes.SHA256()))).decode()
        return {root.hex(): {**promised, "verification": {"inclusionProof": proof, "signedEntryTimestamp": promise}}}

    # -- what clients are told -----------------------------------------------------------------------------------

    def trust(self) -> str:
        """Return the trust configuration of this Sigstore."""
        valid = {"start": _START.isoformat().replace("+00:00", "Z")}

        def log(name: str) -> dict[str, Any]:
            spki = _spki(self._keys[name])
            key = {"rawBytes": base64.b64encode(spki).decode(), "keyDetails": "PKIX_ECDSA_P256_SHA_256"}
            identity = {"keyId": base64.b64encode(hashlib.sha256(spki).digest()).decode()}
            shared = {"baseUrl": self.address, "hashAlgorithm": "SHA2_256", "logId": identity}
            return {**shared, "publicKey": {**key, "validFor": valid}}

        root = base64.b64encode(self._root.public_bytes(serialization.Encoding.DER)).decode()
        authority = {
            "subject": {"organization": "acme", "commonName": "a private Sigstore"},
            "uri": self.address,
            "certChain": {"certificates": [{"rawBytes": root}]},
            "validFor": valid,
        }
        service = {"url": self.address, "majorApiVersion": 1, "validFor": valid, "operator": "acme"}
        document = {
            "mediaType": "application/vnd.dev.sigstore.clienttrustconfig.v0.1+json",
            "trustedRoot": {
                "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
                "tlogs": [log("log")],
                "ctlogs": [log("ct")],
                "certificateAuthorities": [authority],
                "timestampAuthorities": [],
            },
            "signingConfig": {
                "mediaType": "application/vnd.dev.sigstore.signingconfig.v0.2+json",
                "caUrls": [service],
                "oidcUrls": [service],
                "rekorTlogUrls": [service],
                "rekorTlogConfig": {"selector": "ANY"},
                "tsaUrls": [],
                "tsaConfig": {"selector": "ANY"},
            },
        }
        return json.dumps(document)

    def token(self, audience: str) -> str:
        """Return an identity token as GitHub's provider makes it; its signature is not looked at by clients."""
        now = int(dt.datetime.now(dt.UTC).timestamp())
        path = self.workflow.removeprefix("https://github.com/")
        claims = {"iss": GITHUB, "aud": audience, "sub": f"repo:{self.sources}:ref:refs/tags/v2.0.0"}
        claims |= {"job_workflow_ref": path, "repository": self.sources}
        return jwt.encode({**claims, "iat": now, "nbf": now, "exp": now + 600}, "k" * 32, algorithm="HS256")

    def environment(self) -> dict[str, str]:
        """Return what GitHub sets in a job that has ``permissions: id-token: write``."""
        return {
            "GITHUB_ACTIONS": "true",
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{self.address}/token?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": REQUEST_TOKEN,
        }


class _Handler(BaseHTTPRequestHandler):
    sigstore: Sigstore

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the overridden parameter
        """Say nothing."""

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        if self._refused("token") or self.headers.get("Authorization") != f"bearer {REQUEST_TOKEN}":
            return self._answer(403, {"message": "no"})
        return self._answer(200, {"value": self.sigstore.token(query["audience"][0])})

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        what = "log" if self.path.endswith("/log/entries") else "certificate"
        if status := self._refused(what):
            return self._answer(status, {"code": status, "message": "refused for the test"})
        if what == "log":
            return self._answer(201, self.sigstore.entry(asked, len(self.sigstore.asked)))
        jwt.decode(self.headers["Authorization"].removeprefix("Bearer "), "k" * 32, ["HS256"], audience="sigstore")
        chain = self.sigstore.certificate(base64.b64decode(asked["certificateSigningRequest"]))
        return self._answer(201, {"signedCertificateEmbeddedSct": {"chain": {"certificates": chain}}})

    def _refused(self, what: str) -> int:
        self.sigstore.asked.append(what)
        waiting = self.sigstore.refusals.get(what, [])
        return waiting.pop(0) if waiting else 0

    def _answer(self, status: int, document: dict[str, Any]) -> None:
        content = json.dumps(document).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


@contextmanager
def running_sigstore() -> Iterator[Sigstore]:
    """Run a private Sigstore while the block does."""
    sigstore = Sigstore()
    handler = type("Handler", (_Handler,), {"sigstore": sigstore})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        sigstore.address = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield sigstore
        finally:
            server.shutdown()


def trust_file(sigstore: Sigstore, folder: Path) -> Path:
    """Write the trust configuration into a folder."""
    path = folder / f"trust-{os.urandom(4).hex()}.json"
    path.write_text(sigstore.trust())
    return path
