"""What Dask would log on standard error is told by the command line, in a line of its own."""

import io
import logging

import pytest

pytest.importorskip("distributed")

from virtualvector.cli.cluster import silence_logs


@pytest.mark.parametrize(("name", "shown"), [("distributed.some", ""), ("other", "lost\n")])
def test_only_loggers_of_dask_are_silenced_and_stay_so(name, shown):
    stream, logger = io.StringIO(), logging.getLogger(name)
    handler = logging.StreamHandler(stream)
    logger.addHandler(handler)
    logger.propagate = False
    try:
        silence_logs()
        logger.error("lost")
    finally:
        logger.removeHandler(handler)
        logger.propagate = True
    assert stream.getvalue() == shown
