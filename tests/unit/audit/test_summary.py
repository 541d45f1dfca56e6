"""What records keep of a file: all of it, but for the arguments of very many kernels."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rocmatrix.audit import summary
from rocmatrix.audit.facts import Binary, DeviceFile
from rocmatrix.audit.summary import binary_facts, device_file_facts
from tests.unit.audit.samples import GOOD_BINARY
from tests.unit.binary.corpus import content, read

CODE = read(content("plain") + content("gfx942.co"))
BINARY = Binary(path="x.so", elf=GOOD_BINARY.elf, bundles=CODE.bundles, code_objects=CODE.code_objects, size=5)
FILE = DeviceFile(path="x.co", bundles=CODE.bundles, code_objects=CODE.code_objects, size=5)
ARGUMENTS = 6 * 3


def test_records_keep_what_was_read() -> None:
    facts, device = binary_facts(BINARY), device_file_facts(FILE)
    assert (facts.bundles, facts.code_objects, facts.arguments_left_out) == (CODE.bundles, CODE.code_objects, 0)
    assert (device.bundles, device.code_objects, device.arguments_left_out) == (CODE.bundles, CODE.code_objects, 0)


def test_too_many_arguments_are_left_out_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary, "MOST_ARGUMENTS", ARGUMENTS - 1)
    for facts in (binary_facts(BINARY), device_file_facts(FILE)):
        assert facts.arguments_left_out == ARGUMENTS
        kernels = [kernel for code in facts.bundles[0].code_objects for kernel in code.kernels]
        read_ = [kernel for code in CODE.bundles[0].code_objects for kernel in code.kernels]
        assert kernels == [replace(kernel, arguments=()) for kernel in read_]
        assert facts.code_objects[0].kernels[0].arguments == ()
