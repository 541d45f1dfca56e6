"""From a matrix and the name of a unit to a shell where that unit is built."""

from __future__ import annotations

from rocmatrix.build.interactive import open_shell
from rocmatrix.errors import InputError
from rocmatrix.events import Emit
from rocmatrix.machine.cache import cache_folder
from rocmatrix.pipeline import Options, load_plan
from rocmatrix.plan.selectors import select
from rocmatrix.toolchain.engines import engines_of, recipes_of
from rocmatrix.toolchain.registry import make_toolchain


def open_unit_shell(options: Options, emit: Emit) -> int:
    """Open a shell where the one selected unit is built, and return its exit status; nothing is written.

    Raises:
        InputError: the selection is not one unit with compiled code, or there is no terminal.
        MissingRequirementError: something that the unit's toolchain needs is missing.
    """
    current = load_plan(options.matrix, toolchain=options.toolchain)
    root, cache = options.matrix.absolute().parent, cache_folder()
    chosen = select(current, options.only)
    specs = [spec for spec in current.toolchains if spec.id == chosen[0].toolchain]
    if len(chosen) != 1 or not specs:
        raise InputError(
            f"a shell is of one unit with compiled code, and {', '.join(unit.id for unit in chosen)} is not",
            where="UNIT",
            fix="Name one that `rocmatrix plan` lists with a toolchain.",
        )
    recipes = recipes_of(specs, options.engine, root=root)
    with engines_of(specs, recipes, options.engine, emit) as engines:
        spec, engine = specs[0], engines[specs[0].id]
        toolchain = make_toolchain(spec, engine=engine, cache=cache, recipe=recipes.get(spec.id))
        project = root / current.kernel(chosen[0].kernel).path
        return open_shell(chosen[0], project, toolchain, engine, cache=cache, emit=emit, limits=options.engine.limits)
