"""What is wrong with the input, said so that it can be put right."""


class BadInput(ValueError):
    """The input cannot be learned; the message names file, row and column, and what was expected.

    Examples
    --------
    >>> from virtualvector.streams import BadInput
    >>> raise BadInput("rows.csv, line 3: found nan; expected a finite number.")
    Traceback (most recent call last):
    virtualvector.streams.bad_input.BadInput: rows.csv, line 3: found nan; expected a finite number.
    """


class NothingToLearn(BadInput):
    """The input can be read, but there is nothing in it: no rows, none that is good, one class."""


class Damaged(Exception):
    """A file is not what it says of itself; whoever reads it knows which one it is, and where."""

    def __init__(self, message: str, column: str | None = None) -> None:
        super().__init__(message)
        self.message, self.column = message, column
