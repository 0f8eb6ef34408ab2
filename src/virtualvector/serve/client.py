"""A client of `vvm serve` that needs nothing but Python."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

AGAIN = (408, 429, 503)  # what a service says that may do it later
PAUSE = 0.2  # seconds between two tries


class ServiceError(Exception):
    """A service has refused something.

    Attributes
    ----------
    status : int
        What HTTP calls it; 0 if the service could not be reached.

    Examples
    --------
    >>> from virtualvector.serve.client import Client, ServiceError
    >>> nobody = Client("http://127.0.0.1:9", patience=0.0)
    >>> try:
    ...     nobody.get("/ready")
    ... except ServiceError as error:
    ...     print(error.status)
    0
    """

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Client:
    """Asks a service, and brings it labels.

    All that is sent may be sent again: a label is learned once however often it comes. So is a row
    with its label, if it has an id. What fails for a while is tried again.

    Parameters
    ----------
    address : str
        Such as ``http://127.0.0.1:8750``.
    token : str, optional
        What lets in, if the service has tokens.
    patience : float, default=30.0
        Seconds for which something is tried again that a service cannot do now.

    Examples
    --------
    Here something answers that stands for ``vvm serve --model thyroid.vvm``.

    >>> import http.server, threading
    >>> class Service(http.server.BaseHTTPRequestHandler):
    ...     def do_POST(self):
    ...         self.rfile.read(int(self.headers["Content-Length"]))
    ...         self.send_response(200)
    ...         self.end_headers()
    ...         self.wfile.write(ANSWERS[self.path])
    ...     def log_message(self, *args):
    ...         pass
    >>> ANSWERS = {
    ...     "/predict": b'{"id": "patient-17", "label": "hypo", "probabilities": {"hypo": 0.9}}',
    ...     "/labels": b'{"id": "patient-17", "outcome": "accepted"}',
    ... }
    >>> server = http.server.HTTPServer(("127.0.0.1", 0), Service)
    >>> threading.Thread(target=server.serve_forever, daemon=True).start()

    >>> from virtualvector.serve.client import Client
    >>> client = Client(f"http://127.0.0.1:{server.server_port}")
    >>> answer = client.predict({"RT3U": 121, "T4": 4.7}, id="patient-17")
    >>> answer["label"]
    'hypo'
    >>> client.label(answer["id"], "hypo")
    'accepted'

    >>> server.shutdown(), server.server_close()
    (None, None)
    """

    def __init__(self, address: str, token: str | None = None, patience: float = 30.0) -> None:
        self._address, self._patience = address.rstrip("/"), patience
        self._headers = {"Content-Type": "application/json"}
        if token is not None:
            self._headers["Authorization"] = f"Bearer {token}"

    def predict(self, row: Mapping[str, Any], id: str | None = None) -> dict[str, Any]:
        """Return what the model says about a row: id, label and probabilities."""
        answer: dict[str, Any] = self._ask("/predict", {"row": row, "id": id})
        return answer

    def predict_many(
        self, rows: Sequence[Mapping[str, Any]], ids: Sequence[str | None] | None = None
    ) -> list[dict[str, Any]]:
        """Return what the model says about rows."""
        body = {"rows": rows} if ids is None else {"rows": rows, "ids": ids}
        answers: list[dict[str, Any]] = self._ask("/predict", body)["answers"]
        return answers

    def label(self, id: str, label: str) -> str:
        """Bring the label of a row; return "accepted" or "repeated" once it is durable."""
        return str(self._ask("/labels", {"id": id, "label": label})["outcome"])

    def learn(self, row: Mapping[str, Any], label: str, id: str | None = None) -> str:
        """Bring a row and its label; return as `label` does."""
        return str(self._ask("/learn", {"row": row, "label": label, "id": id})["outcome"])

    def get(self, path: str) -> Any:
        """Return what is at /model, /figures or /ready."""
        return self._ask(path, None)

    def _ask(self, path: str, body: Any) -> Any:
        end = time.monotonic() + self._patience
        while True:
            try:
                return self._ask_once(path, body)
            except ServiceError as error:
                if error.status not in (0, *AGAIN) or time.monotonic() > end:
                    raise
            time.sleep(PAUSE)

    def _ask_once(self, path: str, body: Any) -> Any:
        data = None if body is None else json.dumps(body).encode()
        try:
            with urlopen(
                Request(self._address + path, data, self._headers), timeout=10.0
            ) as answer:
                return json.load(answer)
        except HTTPError as error:
            with error:
                text = error.read().decode("utf-8", "replace")
            raise ServiceError(error.code, _message(text)) from error
        except (OSError, HTTPException, ValueError) as error:
            raise ServiceError(0, f"{self._address}: {error}") from error


def _message(text: str) -> str:
    try:
        answer = json.loads(text)
    except ValueError:
        return text
    return str(answer.get("error") or answer.get("outcome") or answer.get("troubles") or text)
