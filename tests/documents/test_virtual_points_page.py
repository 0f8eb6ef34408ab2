"""The map on the page of virtual points, in a real browser, beside the engine and geometry."""

import json
from pathlib import Path

import numpy as np
import pytest

from tests.report.test_browser import browser  # noqa: F401
from virtualvector import ADFClassifier, EPClassifier
from virtualvector.paper.exact.sphere_geometry import cut_sphere

pytestmark = pytest.mark.processes

SCRIPT = Path(__file__).parents[2] / "docs" / "static" / "sphere.js"
ANGLES = np.arange(7) * 0.9 + 0.2
ROWS = np.column_stack([np.cos(ANGLES), np.sin(ANGLES), np.linspace(0.3, 0.6, 7)])


@pytest.fixture(scope="module")
def call(browser, tmp_path_factory):  # noqa: F811
    """Call a function of the script in a page that has nothing else."""
    page = tmp_path_factory.mktemp("page") / "page.html"
    page.write_text(f"<!doctype html><script>{SCRIPT.read_text(encoding='utf-8')}</script>")
    browser.get(page.as_uri())

    def called(name, *arguments):
        given = ", ".join(map(json.dumps, arguments))
        return browser.execute_script(f"return virtualPoints.{name}({given})")

    return called


@pytest.mark.parametrize(("learner", "is_kept"), [(ADFClassifier, False), (EPClassifier, True)])
def test_no_cut_kept_is_adf_and_all_kept_is_ep(call, learner, is_kept):
    shown = call("learned", ROWS.tolist(), [is_kept] * len(ROWS))
    signs = np.array([1, -1, 1, 1, -1, 1, -1])  # a row of the other class is its mirror image
    model = learner(fit_intercept=False).partial_fit(ROWS * signs[:, None], signs)
    np.testing.assert_allclose(shown["mean"], model.coef_[0], atol=1e-5)
    np.testing.assert_allclose(shown["covariance"], model.covariance_, atol=1e-5)


def test_the_exact_mean_is_that_of_the_polygon(call):
    shown, polygon = np.array(call("exactMean", ROWS.tolist())), cut_sphere(ROWS)
    exact = polygon.posterior_mean
    cosine = shown @ exact / np.linalg.norm(shown) / np.linalg.norm(exact)
    assert np.degrees(np.arccos(cosine)) < 0.3
