"""What a release adds to a card: how to load it, who is served, how it was tested and made. Pure.

Lines of code in it run as they stand: a test takes them out of a published card and runs them.
"""

from __future__ import annotations

from collections import defaultdict

from rocmatrix.metadata import Metadata
from rocmatrix.plain_text import escaped
from rocmatrix.plan.model import Cell, CellState
from rocmatrix.plan.version import minor_key
from rocmatrix.records import Isolation, Tested
from rocmatrix.release.card_facts import CardFacts
from rocmatrix.release.content import Content
from rocmatrix.release.trees import in_variant

_MIB = 1 << 20
_TESTED = {Tested.UNTESTED: "not executed by anything", Tested.EMULATED: "emulated"}
_SHOWN_DIGITS = 12
_LOAD = """```python
from kernels import get_kernel

kernel = get_kernel("{repository}", revision="{tag}", trust_remote_code=["{repository}"])
```

`version={major}` in place of `revision=` takes the newest release of this major version. `trust_remote_code` is not
needed for a publisher that the Hub knows as trusted. For a machine without a network, beforehand:

```python
from huggingface_hub import snapshot_download

snapshot_download("{repository}", repo_type="kernel", revision="{tag}")
```"""
_BENCHMARKS = """No times are stated: this release was not timed. On your GPU, with `pip install 'kernels[benchmark]'`:

```sh
hf download {repository} --repo-type kernel --revision {tag} --local-dir {name}-{tag}
kernels benchmark ./{name}-{tag}
```"""
_MADE = """`metadata.json` of each variant names the commit, the compilers and the digest of every file;
`metadata.json.sigstore` beside it, where there is one, signs it. `rocmatrix verify {repository}@{tag}` checks that."""


def has_benchmarks(content: Content) -> bool:
    """Return whether scripts for ``kernels benchmark`` are published."""
    return any(path.startswith("benchmarks/") for path in content.files)


def release_part(facts: CardFacts) -> str:
    """Return the part of the card that speaks of one release, as Markdown."""
    release = facts.release
    words = {
        "repository": facts.content.kernel.repo_id,
        "tag": release.tag,
        "major": release.major,
        "name": facts.manifest.name,
    }
    parts = [
        f"## Release {release.tag}",
        f"Tag `{release.tag}`, made from `{release.source}` at commit `{facts.commit}`.",
        "### Load this release",
        _LOAD.format(**words),
        "### Who is served",
        _grid(facts),
        *_not_served(facts),
        "### Variants",
        _variants(facts),
        *(("### Benchmarks", _BENCHMARKS.format(**words)) if has_benchmarks(facts.content) else ()),
        "### Provenance",
        _provenance(facts),
        _MADE.format(**words),
    ]
    return "\n\n".join(parts) + "\n"


def _cells(facts: CardFacts) -> dict[tuple[str, str], Cell]:
    return {(cell.torch, cell.rocm): cell for cell in facts.plan.cells if cell.kernel == facts.coverage.kernel}


def _grid(facts: CardFacts) -> str:
    """Return the coverage as a table torch x ROCm: how the variant of a cell was tested, and its gfx archs."""
    cells = _cells(facts)
    tested = {cell.cell: cell for cell in facts.coverage.cells}
    torches = sorted({torch for torch, _ in cells}, key=minor_key)
    rocms = sorted({rocm for _, rocm in cells}, key=minor_key)
    lines = ["| torch | " + " | ".join(f"ROCm {rocm}" for rocm in rocms) + " |", "|---" * (len(rocms) + 1) + "|"]
    for torch in torches:
        row = []
        for rocm in rocms:
            cell = cells.get((torch, rocm))
            served = cell is not None and cell.state is CellState.SERVED and tested[cell.id].variant
            row.append(_how(tested[cell.id].tested) if cell is not None and served else "no")
        lines.append(f"| {torch} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def _not_served(facts: CardFacts) -> list[str]:
    """Return why cells are not served, each reason once."""
    reasons = defaultdict(list)
    for cell in _cells(facts).values():
        if cell.state is not CellState.SERVED:
            reasons[cell.reason].append(f"torch {cell.torch} with ROCm {cell.rocm}")
    if not reasons:
        return []
    lines = [f"- {', '.join(cells)}: {escaped(reason)}" for reason, cells in reasons.items()]
    return ["Not served:", "\n".join(lines)]


def _how(tested: Tested) -> str:
    return _TESTED.get(tested, f"ran on {tested.value}")


def _variants(facts: CardFacts) -> str:
    lines = ["| variant | gfx | compiler | tested | MiB |", "|---|---|---|---|---|"]
    for name, metadata in facts.content.metadata.items():
        block = metadata.rocmatrix
        size = sum(file.size for path, file in facts.content.files.items() if in_variant(path, name)) / _MIB
        archs = ", ".join(metadata.backend.archs or ()) or "any"
        where = "in a container" if block.isolation is Isolation.CONTAINER else "on the host, in no container"
        compiler = f"{block.toolchain.description}, {where}" if block.toolchain else "none: Python only"
        checked = f"{_how(block.checked.tested)}: {block.checked.reason}"
        lines.append(f"| `{name}` | {archs} | {escaped(compiler)} | {escaped(checked)} | {size:.2f} |")
    return "\n".join(lines)


def _provenance(facts: CardFacts) -> str:
    """Return what went into each variant, by version and the first digits of its digest."""
    lines = ["| variant | made by | compilers | recipe | torch headers | files |", "|---|---|---|---|---|---|"]
    lines += [f"| `{name}` | {_made(metadata)} |" for name, metadata in facts.content.metadata.items()]
    return "\n".join(lines)


def _made(metadata: Metadata) -> str:
    block = metadata.rocmatrix
    tools, headers = block.toolchain, block.headers
    compilers = ", ".join(f"{name} {version}" for name, version in sorted(tools.compilers.items())) if tools else "none"
    recipe = f"{escaped(tools.recipe)} `{_digits(tools.recipe_digest)}`" if tools else "none"
    torch = f"{escaped(headers.torch)} `{_digits(headers.headers_digest)}`" if headers else "none"
    made = escaped(f"rocmatrix {block.version}")
    return " | ".join((made, escaped(compilers), recipe, torch, f"`{_digits(block.artifact_digest)}`"))


def _digits(digest: str) -> str:
    return digest.removeprefix("sha256:")[:_SHOWN_DIGITS]
