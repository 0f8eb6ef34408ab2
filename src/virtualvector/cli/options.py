"""Options that several verbs have."""

from __future__ import annotations

import csv
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from virtualvector.streams import Dialect

READING = "Reading"


class Format(StrEnum):
    """What a source is written in."""

    csv = "csv"
    tsv = "tsv"
    jsonl = "jsonl"
    parquet = "parquet"
    arrow = "arrow"
    svmlight = "svmlight"


class OnError(StrEnum):
    """What to do at a bad row."""

    stop = "stop"
    skip = "skip"


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SOURCE...",
        help="A shipped data set (vvm datasets lists them); files: .csv, .tsv, .jsonl, .parquet, "
        ".arrow, .feather, .svm, the texts also with .gz or .zst; a glob; or - for standard input "
        "(CSV or JSON lines).",
        show_default=False,
    ),
]

LabelOption = Annotated[
    str | None,
    typer.Option(
        "--label",
        metavar="NAME",
        help="Column to predict, by default the one called label, class, target or y, or the last.",
        rich_help_panel=READING,
    ),
]

CategoricalOption = Annotated[
    str | None,
    typer.Option(
        "--categorical",
        metavar="COLUMN,...",
        help="Columns that are categorical, whatever they look like.",
        rich_help_panel=READING,
    ),
]

TextOption = Annotated[
    str | None,
    typer.Option(
        "--text",
        metavar="COLUMN,...",
        help="Columns of texts, whose words and pairs of words are learned, by a linear learner "
        "with a covariance of low rank; those that plainly are texts are found.",
        rich_help_panel=READING,
    ),
]

FormatOption = Annotated[
    Format | None,
    typer.Option("--format", help="If the name does not say it.", rich_help_panel=READING),
]

MissingOption = Annotated[
    str | None,
    typer.Option(
        "--missing",
        metavar="TEXT,...",
        help="What else stands for a missing value, beside nothing, NA, null, nan, none and ?.",
        rich_help_panel=READING,
    ),
]

OnErrorOption = Annotated[
    OnError,
    typer.Option(
        "--on-error",
        help="At a bad row: stop, having saved what was learned, or skip and count it.",
        rich_help_panel=READING,
    ),
]

IgnoreOption = Annotated[
    str | None,
    typer.Option(
        "--ignore", metavar="COLUMN,...", help="Columns to leave out.", rich_help_panel=READING
    ),
]

IdOption = Annotated[
    str | None,
    typer.Option(
        "--id",
        metavar="COLUMN,...",
        help="Columns to leave out, but for the output of vvm predict.",
        rich_help_panel=READING,
    ),
]

WeightOption = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column with the weights of rows, 0 or more, which is not learned: a row of weight 2 "
        "counts as one that comes twice. '' for none.",
        rich_help_panel=READING,
    ),
]

ShuffleOption = Annotated[
    bool | None,
    typer.Option(
        "--shuffle",
        help="Read all rows first, into a temporary file, and learn them in a random order; for "
        "tables that are sorted. Memory does not grow with them.",
        rich_help_panel=READING,
    ),
]

EvaluationWeightOption = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column with the weights of rows, 0 or more: a row of weight 2 counts as two. By "
        "default each counts once, whatever was said when the model was learned.",
        rich_help_panel=READING,
    ),
]

DelimiterOption = Annotated[
    str | None,
    typer.Option(
        "--delimiter",
        metavar="SIGN",
        help="Between the fields of CSV; by default the header shows it. tab is one, too.",
        rich_help_panel=READING,
    ),
]

DecimalOption = Annotated[
    str | None,
    typer.Option(
        "--decimal",
        metavar="SIGN",
        help="Before the decimals of a number in CSV: . or a comma; by default the rows show it.",
        rich_help_panel=READING,
    ),
]

EncodingOption = Annotated[
    str | None,
    typer.Option(
        "--encoding",
        metavar="NAME",
        help="Of text, such as latin-1; by default UTF-8, or UTF-16 or 32 if it begins so.",
        rich_help_panel=READING,
    ),
]

NoHeaderOption = Annotated[
    bool,
    typer.Option(
        "--no-header",
        help="The first line of CSV is a row; columns are called x1, x2 and so on.",
        rich_help_panel=READING,
    ),
]

QuoteOption = Annotated[
    str | None,
    typer.Option(
        "--quote",
        metavar="SIGN",
        help='Around fields of CSV, by default "; none if there are none.',
        rich_help_panel=READING,
    ),
]

SeedOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=2**32 - 1,
        metavar="S",
        help="Of the order of a shipped data set, and of --shuffle; by default 0.",
        rich_help_panel=READING,
    ),
]

ModelToRead = Annotated[
    Path,
    typer.Option("--model", metavar="FILE", help="As written by vvm learn or model.save."),
]

JsonOption = Annotated[
    Path | None,
    typer.Option(
        "--json",
        metavar="FILE",
        help="Summary to write, for machines; - for standard output, and nothing else there.",
        dir_okay=False,
        allow_dash=True,
    ),
]


def listed(texts: str | None) -> tuple[str, ...]:
    """Return what stands between commas; what has some itself is in quotes, as in CSV.

    Examples
    --------
    >>> from virtualvector.cli.options import listed
    >>> listed("ham, spam"), listed('"Ort, Kreis",age')
    (('ham', 'spam'), ('Ort, Kreis', 'age'))
    """
    if texts is None:
        return ()
    try:
        fields = next(csv.reader([texts], skipinitialspace=True), [""])
    except csv.Error:  # a line end outside quotes
        fields = texts.split(",")
    return tuple(text.strip() for text in fields)


class Columns(NamedTuple):
    """What columns are for, as a verb was told."""

    label: LabelOption = None
    categorical: CategoricalOption = None
    ignore: IgnoreOption = None
    id: IdOption = None


class Reading(NamedTuple):
    """How rows are read, as a verb was told."""

    missing: MissingOption = None
    format: FormatOption = None
    delimiter: DelimiterOption = None
    decimal: DecimalOption = None
    encoding: EncodingOption = None
    no_header: NoHeaderOption = False
    quote: QuoteOption = None
    on_error: OnErrorOption = OnError.stop
    seed: SeedOption = None

    @property
    def dialect(self) -> Dialect:
        """How text is written, as `virtualvector.streams.open_rows` takes it."""
        from virtualvector.streams.dialect import Dialect

        named = {"tab": "\t", "\\t": "\t"}
        return Dialect(
            named.get(str(self.delimiter), self.delimiter),
            self.decimal,
            self.encoding,
            not self.no_header,
            "" if self.quote == "none" else self.quote,
        )

    @property
    def options(self) -> dict[str, Any]:
        """The same as `virtualvector.streams.open_rows` takes it."""
        return {
            "missing": listed(self.missing),
            "format": None if self.format is None else self.format.value,
            "on_error": self.on_error.value,
            "seed": self.seed or 0,
            "dialect": self.dialect,
        }
