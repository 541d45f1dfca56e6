"""The card that users see: what it says of a release, and its lines of code, run as they stand by the real client."""

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from rocmatrix.errors import InputError
from rocmatrix.metadata import CheckInfo
from rocmatrix.plan.manifest import parse_manifest
from rocmatrix.plan.model import Plan
from rocmatrix.records import Coverage, Tested
from rocmatrix.release.card import make_card
from rocmatrix.release.card_facts import CardFacts
from rocmatrix.release.content import Content, read_content
from rocmatrix.release.source_tag import read_tag
from tests.golden.content import PLAN
from tests.system.conftest import StubBuilder, hip_soname
from tests.system.hub import serving
from tests.system.release_source import REPOSITORY, Source, make_source
from tests.system.test_release import TAG, release
from tests.system.test_release_users import SECONDS, VARIANT, Place, user

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # huggingface_hub's own, of httpx2


def rows(card: str, heading: str) -> list[list[str]]:
    """Return the cells of the first table below a heading."""
    lines = card.partition(f"### {heading}\n")[2].lstrip("\n").splitlines()
    table = [line for line in lines[: lines.index("") if "" in lines else None] if line.startswith("|")]
    return [[unescaped(cell.strip()) for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in table]


def unescaped(text: str) -> str:
    """Return the text that readers of a piece of Markdown see."""
    return re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text)


def filled(made: Source, plan: Plan | None = None, content: Content | None = None) -> str:
    """Return the card of a source whose files are not those of the tag."""
    coverage = made.store.read_coverage("scale")
    assert isinstance(coverage, Coverage)
    facts = CardFacts(
        manifest=parse_manifest((made.project / "build.toml").read_bytes(), "build.toml"),
        plan=plan or made.plan,
        coverage=coverage,
        content=content or read_content(made.kernel, store=made.store, project=made.project),
        release=read_tag(TAG, made.kernel, several=False),
        commit="0" * 40,
    )
    return make_card(facts, made.project).decode()


def test_the_card_says_who_is_served_how_it_was_tested_and_made(source: Source) -> None:
    wanted = source.wanted()
    card = wanted.card.decode()
    assert rows(card, "Who is served") == [
        ["torch", "ROCm 7.1", "ROCm 7.2"],
        ["---", "---", "---"],
        ["2.11", "no", "not executed by anything"],
        ["2.13", "not executed by anything", "not executed by anything"],
    ]
    variants = {row[0].strip("`"): row for row in rows(card, "Variants")[2:]}
    content = wanted.expectations.content
    assert variants.keys() == set(content.variants)
    files = [file.size for path, file in content.files.items() if path.startswith(f"build/{VARIANT}/")]
    _, archs, compiler, tested, size = variants[VARIANT]
    assert (archs, size) == ("gfx942", f"{sum(files) / (1 << 20):.2f}")
    assert compiler.endswith("on the host, in no container")
    assert tested.startswith("not executed by anything: the kernel has no tests/cases.py")
    made = {row[0].strip("`"): row for row in rows(card, "Provenance")[2:]}[VARIANT]
    block = content.metadata[VARIANT].rocmatrix
    assert block.toolchain is not None
    assert block.headers is not None
    assert made[2] == "clang 22.1.8, ziglang 0.17.1"
    assert block.toolchain.recipe_digest.removeprefix("sha256:")[:12] in made[3]
    assert made[4].startswith("2.13.0 ")
    assert block.artifact_digest.removeprefix("sha256:")[:12] in made[5]
    assert wanted.source_commit in card


def test_the_card_names_what_is_not_served_with_the_reason(source: Source) -> None:
    kept = [cell for cell in PLAN.cells if cell.kernel == "scale" and cell.rocm in {"7.1", "7.2"}]
    assert [cell.id for cell in kept if cell.unit is None] == ["scale.torch2.11-rocm7.1"]
    card = filled(source, replace(source.plan, cells=tuple(kept)))
    line = "- torch 2.11 with ROCm 7.1: excluded in matrix.yaml: wrong results with this torch"
    assert [unescaped(each) for each in card.splitlines() if each.startswith("- torch")] == [line]


def test_what_a_record_says_is_no_markdown_on_the_card(source: Source) -> None:
    hostile = "x\n# Pwned [click](http://evil) <img src=x onerror=alert(1)> | www.evil"
    content = source.wanted().expectations.content
    metadata = {
        name: msgspec.structs.replace(
            each,
            rocmatrix=msgspec.structs.replace(each.rocmatrix, checked=CheckInfo(tested=Tested.MI300X, reason=hostile)),
        )
        for name, each in content.metadata.items()
    }
    card = filled(source, content=replace(content, metadata=metadata))
    told = {row[3] for row in rows(card, "Variants")[2:]}
    assert told == {f"ran on mi300x: {hostile.replace(chr(10), ' ')}"}
    table = card.partition("### Variants")[2].partition("###")[0]
    assert re.findall(r"(?<!\\)[<>\[\]()#:]|http:|www\.", table) == []


def test_the_same_release_has_the_same_card(source: Source) -> None:
    assert source.wanted().card == source.wanted().card


def test_a_card_that_cannot_be_filled_in_is_refused_with_its_line(tmp_path: Path) -> None:
    made = make_source(tmp_path, rocms=["7.2"])
    path = made.project / "CARD.md"
    for content, said in (
        (b"# x\n{{ nobody }}\n", "'nobody' is undefined"),
        (b"# x\n{% if %}\n", "CARD.md:2"),
        (b"\xff\xfe", "not UTF-8"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"the card (cannot be filled in|is not UTF-8)") as caught:
            filled(made)
        assert said in str(caught.value)


def test_the_template_knows_functions_and_layers_of_the_kernel(tmp_path: Path) -> None:
    """As kernel-builder fills it in; read from the sources, never executed."""
    made = make_source(tmp_path, rocms=["7.2"])
    module = made.project / "torch-ext/scale"
    module.mkdir(parents=True)
    (module / "__init__.py").write_text('raise SystemExit\n__all__ = ["scale", "scale_out"]\n')
    (module / "layers.py").write_text('__all__ = ["Scale"]\n')
    (made.project / "CARD.md").write_text("{{ functions | join(',') }} {{ layers | join(',') }} {{ has_benchmark }}\n")
    card = filled(made)
    assert card.startswith("scale,scale_out Scale True\n")


# -- the lines of code ---------------------------------------------------------------------------------------------


@pytest.mark.needs_llvm
def test_every_line_of_the_card_runs_as_it_stands(source: Source, tmp_path: Path, hip_stub: StubBuilder) -> None:
    with serving(tmp_path) as hub:
        commit = release(hub, source).commit
        folder = source.store.variants_folder("scale") / VARIANT
        place = Place(hub=hub, commit=commit, stub=hip_stub(hip_soname(folder)))
        path = hub.api(None).hf_hub_download(REPOSITORY, "README.md", repo_type="kernel", local_dir=tmp_path / "card")
        card = Path(path).read_text()
        newest, this, beforehand = re.findall(r"```python\n(.*?)```", card, re.DOTALL)
        for lines in (newest, this):
            home = tmp_path / f"home-{len(lines)}"
            home.mkdir()
            assert user(place, home, f"{lines}\nprint(kernel.ops)") == ["its ops"]
        alone = tmp_path / "alone"
        alone.mkdir()
        user(place, alone, beforehand)
        assert user(place, alone, f"{this}\nprint(kernel.ops)", offline=True) == ["its ops"]
        (lines,) = re.findall(r"```sh\n(.*?)```", card, re.DOTALL)
        download, benchmark = lines.splitlines()
        done = subprocess.run(
            ["sh", "-ec", download],
            env=hub.environment(),
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )
        assert done.returncode == 0, done.stderr
        ours = benchmark.rpartition(" ")[2]
        assert (tmp_path / ours / "benchmarks/benchmark_scale.py").is_file()
        assert (tmp_path / ours / "build" / VARIANT / "metadata.json").is_file()
        load = (
            f'print(kernels.get_local_kernel(Path("{tmp_path / ours}")).ops)'  # what `kernels benchmark` does with it
        )
        assert user(place, alone, load) == ["its ops"]
