"""Values of options: what can be the name of an image is one rule, on the command line and in matrix.yaml."""

import argparse

import pytest

from rocmatrix.cli.check_values import image_name
from rocmatrix.cli.main import main
from rocmatrix.errors import InputError
from rocmatrix.plan.matrix import parse_matrix

MATRIX = """schema: 1
kernels: [gemm]
torch: ["2.13"]
rocm: ["7.2"]
archs: [gfx942]
check: {images: {torch2.13-rocm7.2: 'NAME'}}
"""


@pytest.mark.parametrize("name", ["../x?a=$(b);", "-x", " ", "a b", "a\nb", "ä", "a$(id)", "x" * 256])
def test_what_no_image_is_called_is_refused_in_both_places(name: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="is not the name of an image"):
        image_name(name)
    with pytest.raises(InputError, match="is not the name of an image"):
        parse_matrix(MATRIX.replace("'NAME'", f'"{name}"'.replace("\n", "\\n")).encode(), "matrix.yaml")


@pytest.mark.parametrize(
    "name", ["torch", "rocm/pytorch:latest", "localhost:5000/a/b@sha256:" + "0" * 64, "sha256:" + "0" * 64]
)
def test_names_of_images_are_taken_in_both_places(name: str) -> None:
    (image,) = parse_matrix(MATRIX.replace("NAME", name).encode(), "matrix.yaml").check_images
    assert image.reference == image_name(name) == name


def test_the_command_line_refuses_it_with_one_message(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "--image", "../x?a=$(b);"]) == 2
    assert "'../x?a=$(b);' is not the name of an image" in capsys.readouterr().err
