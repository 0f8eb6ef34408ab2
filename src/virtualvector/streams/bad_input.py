"""What is wrong with the input, said so that it can be put right."""


class BadInput(ValueError):
    """The input cannot be learned; the message names file, row and column, and what was expected.

    Examples
    --------
    >>> from virtualvector.streams import BadInput
    >>> raise BadInput("rows.csv, line 3, column 'age': found nan; expected a finite number.")
    Traceback (most recent call last):
    virtualvector.streams.bad_input.BadInput: rows.csv, line 3, column 'age': found nan; ...
    """
