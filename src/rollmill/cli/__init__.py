"""The `rollmill` command. Light to import: what a command needs is imported when it runs.

options    what several commands take
making     run, plan, demo
looking    inspect, status, diff
holding    restore, rollback, verify, prune
"""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer
from typer.exceptions import TyperException

from rollmill.cli import holding, looking, making

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Turn RL rollout datasets, each in its own shape, into one verified, versioned, unified dataset.",
)
_INTERRUPTED = 130
_INTERNAL = 1


def _show_version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"rollmill {version('rollmill')}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks.")] = False,
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    if debug:
        os.environ["ROLLMILL_DEBUG"] = "1"


for _command in (
    making.run,
    making.plan,
    making.demo,
    looking.inspect,
    holding.restore,
    looking.status,
    holding.rollback,
    looking.diff,
    holding.verify,
    holding.prune,
):
    app.command()(_command)


def main() -> None:
    """Run the command: errors are one paragraph, exit codes mean something."""
    sys.exit(_exit_code())


def _exit_code() -> int:
    from rollmill.errors import RollmillError

    try:
        result = app(standalone_mode=False)
    except TyperException as error:
        said = error.format_message()  # empty where the help was shown instead
        return _tell(f"{said.rstrip('.')}. See rollmill --help.", error.exit_code) if said else error.exit_code
    except (typer.Abort, KeyboardInterrupt):
        return _tell("interrupted. What is done is kept; the next run goes on from there.", _INTERRUPTED)
    except RollmillError as error:
        return _tell(error.message, error.exit_code)
    except Exception as error:  # noqa: BLE001
        return _tell(
            f"internal error, please report it (--debug shows where): {type(error).__name__}: {error}", _INTERNAL
        )
    return result if isinstance(result, int) else 0


def _tell(message: str, code: int) -> int:
    from rollmill.console import show_error

    if os.environ.get("ROLLMILL_DEBUG"):
        import traceback

        traceback.print_exc()
    show_error(message)
    return code
