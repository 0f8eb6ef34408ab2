"""The page of a report: all that it needs is in it."""

from __future__ import annotations

from virtualvector.report import phrases, pictures, selection
from virtualvector.report.contents import Report
from virtualvector.report.frame import templates


def render(report: Report) -> str:
    """Return a report as one HTML page that opens without a network; the same one each time.

    Parameters
    ----------
    report : Report
        What is to be told.

    Returns
    -------
    str
        The page, to be written as UTF-8.

    Examples
    --------
    >>> import numpy as np
    >>> from virtualvector.evaluation import Tally
    >>> from virtualvector.report import Report, Weight, render
    >>> predicted = np.array([[0.3, 0.7], [0.9, 0.1], [0.6, 0.4]])
    >>> tally = Tally(("ham", "spam")).with_rows(np.array(["spam", "ham", "spam"]), predicted)
    >>> weights = [Weight("<CAPITALS>", "", 1.2, 0.3)]
    >>> page = render(Report("e-mail", {}, tally, weights, None, {}, [], [], {}))
    >>> "<bdi>e-mail</bdi>" in page, "&lt;CAPITALS&gt;" in page
    (True, True)
    """
    environment = templates()
    environment.globals |= {
        "selection": selection,
        "pictures": pictures,
        "phrases": phrases,
        "zip": zip,
    }
    environment.filters |= {"number": phrases.number, "percent": phrases.percent}
    page = environment.get_template("page.html").render(report._asdict())
    # Names may hold halves of characters, which no file can.
    return page.encode("utf-8", "replace").decode()
