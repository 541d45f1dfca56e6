"""A bill of materials in CycloneDX 1.6: the kernel, its variants with every file, and what made them.

Everything in it was recorded when it was used: versions of compilers, digests of recipe, image, torch headers and
sources. What nobody recorded is not in it: packages inside of a container image are those of the image's digest.
"""

from __future__ import annotations

import base64
import uuid
from collections.abc import Iterable
from datetime import datetime

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import ExternalReference, ExternalReferenceType, HashAlgorithm, HashType, Property, XsUri
from cyclonedx.model.bom import Bom, BomMetaData
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.model.tool import ToolRepository
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

import rocmatrix
from rocmatrix.digest import of_bytes
from rocmatrix.records import BuildRecord, HeadersOrigin
from rocmatrix.sbom.ingredients import Ingredients, VariantIngredients

_SHA256 = "sha256:"
_SPACE = uuid.UUID("6f1d3a0e-6d0b-5a57-9f4e-1f5f6c2f5a10")
"""Namespace of serial numbers: the same ingredients have the same one (RFC 9562, version 5)."""


def make_bill(ingredients: Ingredients, *, moment: datetime) -> bytes:
    """Return the bill as JSON.

    Args:
        ingredients: what the kernel is made of; at least one variant.
        moment: for the bill's time, with a zone.
    """
    bill = _Bill(ingredients)
    document = bill.document(moment)
    return (JsonV1Dot6(document).output_as_string(indent=2) + "\n").encode("utf-8")


class _Bill:
    """Components by their reference: what several variants share is there once."""

    def __init__(self, ingredients: Ingredients) -> None:
        self._ingredients = ingredients
        self._shared: dict[str, Component] = {}

    def document(self, moment: datetime) -> Bom:
        """Return the bill with all its dependencies."""
        kernel = self._kernel()
        document = Bom(serial_number=uuid.uuid5(_SPACE, self._identity(moment)))
        tool = Component(name="rocmatrix", type=ComponentType.APPLICATION, version=rocmatrix.__version__)
        document.metadata = BomMetaData(timestamp=moment, component=kernel, tools=ToolRepository(components=[tool]))
        variants = []
        for each in self._ingredients.variants:
            variant = _variant(each)
            variants.append(variant)
            document.components.add(variant)
            document.register_dependency(variant, self._made_of(each))
        for component in self._shared.values():
            document.components.add(component)
        document.register_dependency(kernel, variants)
        return document

    def _identity(self, moment: datetime) -> str:
        artifacts = [f"{each.variant} {each.build.artifact_digest}" for each in self._ingredients.variants]
        return "\n".join((self._ingredients.kernel.repo_id, moment.isoformat(), rocmatrix.__version__, *artifacts))

    def _kernel(self) -> Component:
        kernel, metadata = self._ingredients.kernel, self._ingredients.variants[0].metadata
        owner, _, name = kernel.repo_id.partition("/")
        return Component(
            name=name,
            group=owner,
            version=str(kernel.version),
            type=ComponentType.LIBRARY,
            bom_ref=f"kernel:{kernel.repo_id}",
            licenses=[LicenseFactory().make_from_string(metadata.license)],
            external_references=_sources_of(metadata.source),
        )

    def _made_of(self, each: VariantIngredients) -> list[Component]:
        """Return what a variant was made of, and keep it for the bill."""
        made = [self._sources(each), *self._toolchain(each.build)]
        if each.build.headers is not None:
            made.append(self._keep(_headers(each.build.headers)))
        return made

    def _sources(self, each: VariantIngredients) -> Component:
        git = each.metadata.provenance.kernel if each.metadata.provenance else None
        digest = each.build.inputs.sources if each.build.inputs else None
        facts = {
            "sources-digest": digest or "not recorded",
            "changed-files": str(git.dirty).lower() if git else "not known",
        }
        return self._keep(
            Component(
                name=self._ingredients.kernel.path,
                version=git.commit if git else None,
                type=ComponentType.DATA,
                bom_ref=f"sources:{digest or each.build.inputs_digest}:{git.commit if git else 'no commit'}",
                description="sources of the kernel: build.toml and every file that the build may read",
                external_references=_sources_of(each.metadata.source),
                properties=_properties(facts),
            )
        )

    def _toolchain(self, build: BuildRecord) -> Iterable[Component]:
        identity = build.toolchain
        if identity is None:
            return
        facts = {"recipe": identity.recipe, "recipe-digest": identity.recipe_digest}
        for name, version in sorted(identity.compilers.items()):
            yield self._keep(
                Component(
                    name=name,
                    version=version,
                    type=ComponentType.APPLICATION,
                    bom_ref=f"tool:{identity.recipe_digest}:{name}@{version}",
                    description=identity.description,
                    properties=_properties(facts),
                )
            )
        if identity.image_digest is not None:
            yield self._keep(
                Component(
                    name=identity.recipe,
                    version=identity.image_digest,
                    type=ComponentType.CONTAINER,
                    bom_ref=f"image:{identity.image_digest}",
                    hashes=_hashes(identity.image_digest),
                    properties=_properties(facts),
                )
            )

    def _keep(self, component: Component) -> Component:
        return self._shared.setdefault(str(component.bom_ref.value), component)


def _variant(each: VariantIngredients) -> Component:
    """Return a variant with its files."""
    metadata, build = each.metadata, each.build
    facts = {
        "unit": build.unit,
        "gfx": ",".join(metadata.backend.archs or ()) or "any",
        "isolation": build.isolation.value,
        "tested": f"{metadata.rocmatrix.checked.tested.value}: {metadata.rocmatrix.checked.reason}",
        "inputs-digest": build.inputs_digest,
        "artifact-digest": metadata.rocmatrix.artifact_digest,
    }
    needed = {binary.path: binary.needed for binary in each.audit.binaries}
    return Component(
        name=each.variant,
        version=str(metadata.version),
        type=ComponentType.LIBRARY,
        bom_ref=f"variant:{each.variant}",
        properties=_properties(facts),
        components=[
            Component(
                name=path,
                type=ComponentType.FILE,
                bom_ref=f"file:{each.variant}/{path}",
                hashes=[HashType(alg=HashAlgorithm.SHA_256, content=base64.b64decode(digest).hex())],
                properties=_properties({"needed": ",".join(needed[path])} if path in needed else {}),
            )
            for path, digest in sorted(metadata.digest.files.items())
        ],
    )


def _headers(origin: HeadersOrigin) -> Component:
    public = origin.torch.partition("+")[0]
    return Component(
        name="torch",
        version=origin.torch,
        type=ComponentType.LIBRARY,
        bom_ref=f"torch-headers:{origin.headers_digest}:{of_bytes(origin.wheel.encode())}",
        description="headers only: nothing of torch is in the variants",
        purl=PackageURL(type="pypi", name="torch", version=public),
        hashes=_hashes(origin.wheel_digest),
        properties=_properties({"wheel": origin.wheel, "headers-digest": origin.headers_digest}),
    )


def _hashes(digest: str) -> list[HashType]:
    """Return a digest as CycloneDX has it; none where the index stated none."""
    if not digest.startswith(_SHA256):
        return []
    return [HashType(alg=HashAlgorithm.SHA_256, content=digest.removeprefix(_SHA256))]


def _sources_of(address: str | None) -> list[ExternalReference]:
    return [ExternalReference(type=ExternalReferenceType.VCS, url=XsUri(address))] if address else []


def _properties(facts: dict[str, str]) -> list[Property]:
    return [Property(name=f"rocmatrix:{name}", value=value) for name, value in facts.items()]
