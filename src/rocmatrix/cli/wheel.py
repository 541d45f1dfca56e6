"""``rocmatrix wheel``: installable wheels of what was collected."""

from __future__ import annotations

import argparse

from rocmatrix.cli.options import Verb, named_path
from rocmatrix.errors import ExitCode


def declare(parser: argparse.ArgumentParser) -> None:
    """Add the verb's own options."""
    parser.add_argument(
        "--tag", metavar="TAG", help="tag of the release, e.g. v1.2.0; without it wheels are of version X.dev0"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="name of the distribution, where that of the kernel is somebody else's"
    )
    parser.add_argument(
        "--dest", type=named_path, metavar="DIR", help="where wheels go (default: kernels/<name>/wheels of --out)"
    )


def execute(arguments: argparse.Namespace) -> ExitCode:
    """Write one wheel for each variant."""
    from rocmatrix.cli.progress import reporter_of  # noqa: PLC0415 - `--help` must not wait for it
    from rocmatrix.cli.telling import tell  # noqa: PLC0415
    from rocmatrix.plan.selectors import select  # noqa: PLC0415
    from rocmatrix.report.wheel_view import WheelsDocument, show_wheels  # noqa: PLC0415
    from rocmatrix.store import Store  # noqa: PLC0415
    from rocmatrix.wheel.stage import WheelRequest, make_wheels  # noqa: PLC0415

    store = Store(arguments.out)
    store.read_plan()  # before the folder is taken: one that is not there is not made
    with store.exclusive(), reporter_of(arguments) as reporter:
        plan = store.read_plan()
        units = select(plan, arguments.only)
        request = WheelRequest(units=units, tag=arguments.tag, name=arguments.name, folder=arguments.dest)
        root = arguments.matrix.absolute().parent
        wheels = make_wheels(plan, request, source_root=root, store=store, emit=reporter.emit)
    tell(arguments, WheelsDocument(wheels=wheels), lambda console: show_wheels(wheels, console))
    return ExitCode.DONE


VERB = Verb(
    name="wheel",
    summary="installable wheels of the collected variants, one for each, tagged for their platform",
    declare=declare,
    execute=execute,
)
