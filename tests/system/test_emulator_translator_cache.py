"""The translator around the generated code: no compiler, instructions left to the reference, the cache."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.instruction import Encoding
from rocmatrix.emulator.translator import program as translator_program
from rocmatrix.emulator.translator.program import Translator
from tests.unit.emulator.machine import integer, make, s
from tests.unit.emulator.translator import twins
from tests.unit.emulator.translator.twins import control, make_side, together

pytestmark = pytest.mark.needs_llvm


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("translated")


def test_without_a_compiler_the_reference_executes_and_that_is_said(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(translator_program, "find_compiler", lambda _cache: None)
    translator = Translator(cache)
    side = make_side(
        translator, [make("s_mov_b32", Encoding.SOP1, [s(4)], [integer(7)]), control("s_endpgm")], 1, Mode()
    )
    twins.finish(side)
    assert side.wave.sgprs[4] == 7
    assert translator.work.missing is not None
    assert "ziglang" in translator.work.missing


def test_an_instruction_that_only_the_reference_knows_is_counted_with_its_reason(cache: Path) -> None:
    code = [
        make("s_mov_b32", Encoding.SOP1, [s(4)], [integer(7)]),
        make("s_memtime", Encoding.SMEM, [s(6, 2)], []),
        make("s_add_u32", Encoding.SOP2, [s(5)], [s(4), s(6)]),
    ]
    wrong, translator = together(cache, code, 1, Mode())
    assert not wrong
    assert translator.work.interpreted.total() == 1
    assert "s_memtime" in next(iter(translator.work.interpreted))
    assert translator.work.translated == 3


def test_what_is_compiled_is_found_again_and_a_damaged_file_is_made_anew(tmp_path: Path) -> None:
    code = [make("s_mov_b32", Encoding.SOP1, [s(4)], [integer(9)])]
    together(tmp_path, code, 1, Mode())
    (made,) = tmp_path.rglob("*.so")
    content = made.read_bytes()
    stamp = made.stat().st_mtime_ns
    together(tmp_path, code, 1, Mode())
    assert made.stat().st_mtime_ns == stamp
    made.unlink()  # this process has it loaded
    made.write_bytes(content[:1000])
    wrong, _ = together(tmp_path, code, 1, Mode())
    assert not wrong
    assert made.read_bytes() == content


_SCRIPT = """
import sys
from pathlib import Path
from rocmatrix.emulator.descriptor import Mode
from rocmatrix.emulator.device import Device, Options
from rocmatrix.emulator.hidden_arguments import Geometry
from rocmatrix.emulator.instruction import Encoding
from tests.unit.emulator.machine import make, v
from tests.unit.emulator.translator.twins import together
code = [make("v_add_u32", Encoding.VOP2, [v(1)], [v(2), v(3)])] * 50
wrong, translator = together(Path(sys.argv[1]), code, 5, Mode())
assert not wrong and not translator.work.interpreted, (wrong, translator.work)
"""


def test_processes_may_share_a_cache(tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    environment = {"PYTHONPATH": f"{root}:{root / 'src'}", "PATH": ""}
    started = [
        subprocess.Popen([sys.executable, "-c", _SCRIPT, str(tmp_path)], env=environment, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    for process in started:
        _, errors = process.communicate(timeout=300)
        assert process.returncode == 0, errors.decode()
    assert len(list(tmp_path.rglob("*"))) == 2, "one folder, one library, nothing half made"
