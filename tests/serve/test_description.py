"""Whatever fits the description of the service, or nearly does, is answered as it says."""

import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings

from tests.serve.test_page import listening, service  # noqa: F401

pytestmark = pytest.mark.processes

POSTED = ("/predict", "/labels", "/learn")
READ = ("/model", "/figures", "/health", "/ready", "/metrics", "/openapi.json")


@pytest.fixture
def address(service):  # noqa: F811
    with listening(service) as found:
        yield found


@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_no_request_that_can_be_made_up_is_the_services_fault(address, mode):
    description = schemathesis.openapi.from_url(f"{address}/openapi.json")
    description.config.generation.update(modes=[getattr(schemathesis.GenerationMode, mode.upper())])

    def check(path, method, n_examples):
        @settings(
            max_examples=n_examples,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        @given(case=description[path][method].as_strategy())
        def asked(case):
            answer = case.call(timeout=120)  # on a busy machine
            assert answer.status_code < 500, answer.text
            if mode == "positive":
                assert answer.status_code in (200, 404, 409, 422), answer.text
            documented = description[path][method].definition.raw["responses"]
            assert str(answer.status_code) in {*documented, "405", "404"}, answer.status_code

        asked()

    for path in POSTED:
        check(path, "POST", 40)
    if mode == "positive":
        for path in READ:
            check(path, "GET", 2)
