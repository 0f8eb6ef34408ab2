"""The command `vvm` as a whole."""

from __future__ import annotations

import sys
import warnings
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from virtualvector.cli.compare import compare
from virtualvector.cli.datasets import datasets
from virtualvector.cli.errors import BAD_INPUT, in_one_line, say
from virtualvector.cli.evaluate import evaluate
from virtualvector.cli.inspect import inspect
from virtualvector.cli.learn import learn
from virtualvector.cli.pool import pool
from virtualvector.cli.predict import predict
from virtualvector.cli.reproduce import reproduce
from virtualvector.cli.serve import serve
from virtualvector.cli.signals import Signals

# All that can be wrong with options is of this class, which typer does not name.
_WrongOptions: Any = typer.BadParameter.__mro__[1]

app = typer.Typer(name="vvm", no_args_is_help=True, pretty_exceptions_enable=False)


class _Verb(TyperCommand):
    """A verb that refuses an option that is given twice: the last one would count, in silence."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Return what is left of the arguments."""
        _, _, given = self.make_parser(ctx).parse_args(args=list(args))
        for option in given:
            if given.count(option) > 1 and not getattr(option, "is_flag", True):
                takes = getattr(option, "metavar", None) or ""
                how = ", its values with commas between them" if "," in takes else ""
                ctx.fail(f"{option.opts[0]}: found more than once; expected it once{how}")
        return super().parse_args(ctx, args)


# One line for each verb.
app.command(cls=_Verb)(in_one_line(learn))
app.command(cls=_Verb)(in_one_line(predict))
app.command(cls=_Verb)(in_one_line(evaluate))
app.command(cls=_Verb)(in_one_line(inspect))
app.command(cls=_Verb)(in_one_line(pool))
app.command(cls=_Verb)(in_one_line(datasets))
app.command(cls=_Verb)(in_one_line(compare))
app.command(cls=_Verb)(in_one_line(reproduce))
app.command(cls=_Verb)(in_one_line(serve))


def _print_version(asked: bool) -> None:
    if asked:
        from virtualvector.cli.version import version_lines

        print(*version_lines(), sep="\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool,
        typer.Option(
            "--version",
            callback=_print_version,
            is_eager=True,
            help="Print what a report of a bug should say, and leave.",
        ),
    ] = False,
) -> None:
    """Learn streams of labelled rows in one pass and constant memory, with probabilities.

    For example:

        vvm learn spambase
        vvm learn rows.csv --label outcome --model outcome.vvm --report outcome.html
        vvm predict new.csv --model outcome.vvm --proba
        vvm learn --help

    Leaves with 0 if all is well, 1 if something failed, 2 if the input or
    the options are wrong, 3 if there was nothing to learn, predict or
    measure, or only one class, and 128 + n if signal n stopped it.
    """


def _say(message: Warning | str, *where: Any) -> None:
    """Say a warning in one line, without the place in the code that it comes from."""
    print("vvm:", " ".join(str(message).split()), file=sys.stderr)


def main() -> None:
    """Run what was asked for on the command line, and leave with an exit code.

    0 is fine, 1 the job failed, 2 the input or the options were wrong, 3 there was nothing to learn
    or only one class, 130 interrupted.
    """
    warnings.showwarning = _say  # type: ignore[assignment]
    Signals.of_a_program = True
    try:
        sys.exit(app(prog_name="vvm", standalone_mode=False))
    except _WrongOptions as wrong:
        if not sys.argv[1:]:
            wrong.show()  # the help
            sys.exit(BAD_INPUT)
        # Words of those who check options, which tell nothing.
        message = (
            wrong.format_message().removeprefix("Invalid value: ").replace("Value error, ", "")
        )
        say(f"vvm: {message}")
        sys.exit(BAD_INPUT)
