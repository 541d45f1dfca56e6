"""metadata.json of one variant, from what the plan, the manifest and the records say."""

from __future__ import annotations

import rocmatrix
from rocmatrix.collect.coverage import torch_range
from rocmatrix.collect.evidence import Ready
from rocmatrix.metadata import (
    METADATA_SCHEMA,
    BackendInfo,
    Builder,
    CheckInfo,
    FileDigests,
    GitState,
    HeadersInfo,
    KernelDependency,
    Metadata,
    Provenance,
    RocmatrixBlock,
    ToolchainInfo,
    TorchRange,
)
from rocmatrix.plan.extension import extension_name
from rocmatrix.plan.manifest import Manifest
from rocmatrix.plan.model import Plan, Unit
from rocmatrix.records import BuildRecord


def describe_variant(
    plan: Plan, unit: Unit, *, manifest: Manifest, ready: Ready, digests: FileDigests, source: GitState | None
) -> Metadata:
    """Return the metadata of a variant. The same inputs give the same document: nothing in it depends on the clock.

    Args:
        plan: the plan that the unit belongs to.
        unit: the unit.
        manifest: build.toml of its kernel.
        ready: what the records say of it.
        digests: of the files of the variant.
        source: the commit of the sources; ``None`` if there is none.
    """
    return Metadata(
        name=manifest.name,
        id=extension_name(manifest.name, ready.build.uid),
        version=manifest.version,
        license=manifest.license,
        upstream=manifest.upstream,
        source=manifest.source,
        python_depends=manifest.python_depends,
        backend=BackendInfo(type="rocm", archs=ready.archs or None),
        kernel_depends=tuple(
            KernelDependency(repo_id=needed.repo_id, version=needed.version, revision=needed.revision)
            for needed in manifest.kernel_depends
        ),
        digest=digests,
        provenance=_provenance(ready.build, source),
        rocmatrix=_own_block(plan, unit, ready),
    )


def _provenance(build: BuildRecord, source: GitState | None) -> Provenance | None:
    if source is None:
        return None
    return Provenance(kernel_builder=Builder(version=f"rocmatrix/{build.rocmatrix}"), kernel=source)


def _own_block(plan: Plan, unit: Unit, ready: Ready) -> RocmatrixBlock:
    served = torch_range(plan, unit.id)
    build = ready.build
    return RocmatrixBlock(
        schema=METADATA_SCHEMA,
        version=rocmatrix.__version__,
        unit=unit.id,
        torch=TorchRange(min=served[0], max=served[1]) if served else None,
        toolchain=_toolchain(build),
        headers=_headers(build),
        isolation=build.isolation,
        checked=CheckInfo(tested=ready.tested, reason=ready.reason),
        inputs_digest=build.inputs_digest,
        artifact_digest=ready.artifact,
    )


def _toolchain(build: BuildRecord) -> ToolchainInfo | None:
    if build.toolchain is None:
        return None
    return ToolchainInfo(
        recipe=build.toolchain.recipe,
        description=build.toolchain.description,
        compilers=build.toolchain.compilers,
        recipe_digest=build.toolchain.recipe_digest,
    )


def _headers(build: BuildRecord) -> HeadersInfo | None:
    if build.headers is None:
        return None
    return HeadersInfo(
        torch=build.headers.torch.partition("+")[0],
        headers_digest=build.headers.headers_digest,
    )
