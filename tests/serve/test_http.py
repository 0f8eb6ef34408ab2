"""What clients see."""

import asyncio
import json
import math

import numpy as np
import pytest
from typer.testing import CliRunner

import virtualvector
from tests.serve.conftest import learn_all, rows_of, until
from virtualvector.cli.main import app as command
from virtualvector.serve.bodies import Limits
from virtualvector.serve.gate import Gate, tokens_in
from virtualvector.serve.metrics import Latency

ROWS, LABELS = rows_of(40, seed=1)
READ, WRITE = "r" * 20, "w" * 20


def post(client, path, body, **options):
    return client.post(path, json=body, **options)


def test_an_answer_is_what_the_model_says(client, model):
    answer = post(client, "/predict", {"row": ROWS[0], "id": "a"}).json()
    table = {name: [value] for name, value in ROWS[0].items()}
    own = virtualvector.load(model)
    expected = dict(zip(own.classes_.tolist(), own.predict_proba(table)[0].tolist(), strict=True))
    assert answer == {
        "id": "a",
        "label": max(expected, key=expected.get),
        "probabilities": expected,
        "learned": 0,
        "kept": True,
    }


def test_many_rows_are_answered_as_each_of_them(client):
    many = post(client, "/predict", {"rows": ROWS[:5]}).json()["answers"]
    single = [post(client, "/predict", {"row": row}).json() for row in ROWS[:5]]
    assert [a["probabilities"] for a in many] == [a["probabilities"] for a in single]
    assert len({a["id"] for a in [*many, *single]}) == 10


def test_a_label_is_learned_once_however_often_it_comes(client):
    post(client, "/predict", {"row": ROWS[0], "id": "a"})
    said = [post(client, "/labels", {"id": "a", "label": "good"}) for _ in range(3)]
    assert [(s.status_code, s.json()["outcome"]) for s in said] == [
        (200, "accepted"),
        (200, "repeated"),
        (200, "repeated"),
    ]
    conflict = post(client, "/labels", {"id": "a", "label": "bad"})
    assert (conflict.status_code, conflict.json()["outcome"]) == (409, "conflict")
    learn_all(client, 1)
    assert client.get("/model").json()["rows_learned"] == 61
    until(lambda: client.service.learner.conflicts)
    assert client.get("/figures").json()["conflicts"] == [
        {"id": "a", "label": "good", "other": "bad"}
    ]


def test_a_label_of_an_unknown_row_is_not_found(client):
    said = post(client, "/labels", [{"id": "a", "label": "good"}])
    assert (said.status_code, said.json()) == (
        404,
        {"outcomes": [{"id": "a", "outcome": "unknown"}]},
    )


def test_an_id_is_of_one_row(client):
    first = post(client, "/predict", {"row": ROWS[0], "id": "a"}).json()
    learned = post(client, "/learn", {"row": ROWS[1], "label": "good"})
    assert learned.status_code == 200
    learn_all(client, 1)
    again = post(client, "/predict", {"row": ROWS[0], "id": "a"}).json()
    assert again == first  # what was said at the time
    assert first["learned"] == 0
    other = post(client, "/predict", {"row": ROWS[1], "id": "a"})
    assert (other.status_code, other.json()["error"][:6]) == (409, "id 'a'")
    assert post(client, "/learn", {"row": ROWS[1], "label": "bad", "id": "a"}).status_code == 409


def test_what_is_learned_shows_within_a_second(client):
    before = post(client, "/predict", {"row": ROWS[0]}).json()["probabilities"]
    body = {"rows": ROWS[:30], "labels": LABELS[:30]}
    said = post(client, "/learn", body).json()["outcomes"]
    assert [each["outcome"] for each in said] == ["accepted"] * 30
    until(lambda: client.service.snapshot.sequence == 30, seconds=1.0)
    assert post(client, "/predict", {"row": ROWS[0]}).json()["probabilities"] != before


def test_figures_are_about_what_was_said_at_the_time(client):
    answers = post(client, "/predict", {"rows": ROWS}).json()["answers"]
    # The second half of the labels comes first, and is learned before the others come.
    for part in (slice(20, 40), slice(0, 20)):
        labels = [
            {"id": answer["id"], "label": label}
            for answer, label in zip(answers[part], LABELS[part], strict=True)
        ]
        post(client, "/labels", labels)
        learn_all(client, 20 if part.start else 40)
    said = np.array([answer["probabilities"]["good"] for answer in answers])
    good = np.array(LABELS) == "good"
    figures = client.get("/figures").json()
    assert figures["labels"] == 40
    assert figures["error"] == np.mean((said > 0.5) != good)
    losses = -np.log(np.where(good, said, 1.0 - said))
    assert figures["log_loss"] == pytest.approx(losses.mean(), rel=1e-9)
    share = good.mean()
    entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
    assert figures["base_log_loss"] == pytest.approx(entropy, rel=1e-9)
    ages = {part["part"]: part for part in figures["by_age"]}
    assert {name: part["n_rows"] for name, part in ages.items()} == {
        "none": 1,
        "up to 9": 9,
        "10 to 99": 30,
    }
    in_order = np.concatenate([losses[20:], losses[:20]])
    assert ages["up to 9"]["log_loss"] == pytest.approx(in_order[1:10].mean(), rel=1e-9)
    assert figures["by_delay"][0]["part"] == "up to a second"
    surprises = {
        answer["id"] for answer, loss in zip(answers, losses, strict=True) if loss > -math.log(0.1)
    }
    assert {each["id"] for each in figures["surprises"]} <= surprises
    assert len(figures["surprises"]) == min(len(surprises), 10)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (ROWS[0] | {"x1": "abc"}, "row 1, column 'x1': found 'abc'; expected a number"),
        (ROWS[0] | {"x1": [1]}, "row 1, column 'x1': found a list or an object; expected"),
        ({"x1": 1.0}, "row 1: found no column 'x0', 'x2', 'colour'; expected"),
        ({}, "row 1: found 0 columns; expected 1 to"),
        ([1, 2], "row 1: found a list; expected an object."),
    ],
)
def test_a_bad_row_names_the_column_what_was_found_and_what_was_expected(client, row, said):
    answer = post(client, "/predict", {"row": row})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(said)


def test_infinite_numbers_are_refused_and_keys_that_are_not_known_are_told(client):
    body = json.dumps({"row": ROWS[0] | {"x0": 12.5}}).replace("12.5", "1e999")
    answer = client.post("/predict", content=body, headers={"content-type": "application/json"})
    assert answer.status_code == 422
    assert "column 'x0': found inf; expected a finite number" in answer.json()["error"]
    answer = post(client, "/predict", {"row": ROWS[0] | {"size": 3}}).json()
    assert answer["left_out"] == ["size"]


def test_a_class_that_is_not_known_is_refused(client):
    post(client, "/predict", {"row": ROWS[0], "id": "a"})
    for label in ("ugly", None, ["good"], 3):
        answer = post(client, "/labels", {"id": "a", "label": label})
        assert answer.status_code == 422
        assert "expected one of 'bad', 'good'" in answer.json()["error"]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"", 400),
        (b"{", 400),
        (b'{"row": ' + b"[" * 100_000, 400),
        (b"[" * 100_000 + b"]" * 100_000, 400),
        (b'{"row": {"x0": ' + b"9" * 5000 + b"}}", 400),
        (b'"row"', 422),
        (b'{"rows": []}', 422),
        (b'{"rows": {}}', 422),
        (b'{"row": null}', 422),
        (b'{"row": {"x0": 1}, "also": 1}', 422),
        (b'{"row": {"x0": 1}, "id": ""}', 422),
        (b'{"row": {"x0": 1}, "id": 7}', 422),
        (b'{"row": {"x0": 1}, "id": "a\\u0000b"}', 422),
        (b'{"row": {"x0": 1}, "id": "\\ud800"}', 422),
        (b'{"rows": [{"x0": 1}, {"x0": 1}], "ids": ["a"]}', 422),
        (b'{"rows": [{"x0": 1}, {"x0": 1}], "ids": ["a", "a"]}', 422),
        (b'{"rows": [' + b'{"x0": 1},' * 1000 + b'{"x0": 1}]}', 413),
        (b"\xff\xfe{}", 400),
        (b" " * (2**20 + 1), 413),
    ],
)
def test_hostile_bodies_are_the_clients_fault(client, body, status):
    kind = {"content-type": "application/json"}
    for path in ("/predict", "/learn"):
        answer = client.post(path, content=body, headers=kind)
        assert answer.status_code == status
        assert answer.json()["error"]
    assert client.get("/ready").status_code == 200


def test_a_million_keys_are_refused(serving):
    kind = {"content-type": "application/json"}
    few, many = (
        '{"row":{' + ",".join(f'"k{k}":1' for k in range(n)) + "}}" for n in (20_481, 10**6)
    )
    with serving() as client:
        answer = client.post("/predict", content=few, headers=kind)
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("row 1: found 20,481 columns; expected 1 to")
        assert client.post("/predict", content=many, headers=kind).status_code == 413


def test_only_json_is_taken(client):
    answer = client.post("/predict", content="{}", headers={"content-type": "text/plain"})
    assert answer.status_code == 415


def test_another_name_of_the_host_is_refused(client):
    assert client.get("/model", headers={"host": "evil.example"}).status_code == 403


def test_tokens_to_read_and_to_write_are_apart(serving):
    tokens = tokens_in(f"# ours\nread {READ}\nwrite {WRITE}\n", "tokens")

    def status(client, method, path, token=None, **options):
        headers = {} if token is None else {"authorization": f"Bearer {token}"}
        return client.request(method, path, headers=headers, **options).status_code

    label = {"json": {"id": "a", "label": "good"}}
    with serving(tokens=tokens) as client:
        assert status(client, "GET", "/model") == 401
        assert status(client, "GET", "/model", "x" * 20) == 401
        assert status(client, "GET", "/model", READ) == 200
        assert status(client, "GET", "/model", WRITE) == 200
        assert status(client, "POST", "/predict", READ, json={"row": ROWS[0], "id": "a"}) == 200
        assert status(client, "POST", "/labels", **label) == 401
        assert status(client, "POST", "/labels", READ, **label) == 403
        assert status(client, "POST", "/labels", WRITE, **label) == 200
        for path in ("/", "/health", "/ready"):
            assert status(client, "GET", path) == 200
        for path in ("/metrics", "/figures", "/events", "/openapi.json"):
            assert status(client, "GET", path) == 401


def test_a_rate_is_kept(serving):
    with serving(limits=Limits(rate=5.0)) as client:
        said = [client.get("/health").status_code for _ in range(12)]
    assert said[:5] == [200] * 5
    assert 429 in said


def test_a_body_that_comes_too_slowly_is_refused_and_so_is_one_that_is_ended():
    head = [(b"host", b"testserver"), (b"content-type", b"application/json")]
    scope = {"type": "http", "method": "POST", "path": "/predict", "headers": head}

    async def ask(seconds, is_ended):
        parts, sent = [{"type": "http.request", "body": b"{", "more_body": True}], []

        async def receive():
            return parts.pop() if parts else await asyncio.sleep(60)

        async def send(message):
            sent.append(message)

        gate = Gate(None, Limits(seconds=seconds), None, ("testserver",), Latency())
        asked = asyncio.ensure_future(gate(dict(scope), receive, send))
        await asyncio.sleep(0)
        if is_ended:
            asked.cancel()
        await asyncio.wait([asked])
        return asked.cancelled(), [message.get("status") for message in sent]

    assert asyncio.run(ask(0.01, is_ended=False)) == (False, [408, None])
    assert asyncio.run(ask(60.0, is_ended=True)) == (False, [503, None])


def test_every_answer_has_strict_headers(client):
    for path in ("/", "/model", "/nothing"):
        headers = client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["x-frame-options"] == "DENY"
        assert headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
    headers = client.post("/predict", json={"row": ROWS[0]}).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == "no-store"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "content-security-policy" in client.post("/predict", json={}).headers


def test_metrics_are_what_prometheus_reads(client):
    post(client, "/learn", {"row": ROWS[0], "label": "good"})
    learn_all(client, 1)
    lines = client.get("/metrics").text.splitlines()
    found = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    assert found["vvm_learned_labels"] == "1"
    assert found["vvm_rows_learned"] == "61"
    assert found['vvm_labels_total{outcome="accepted"}'] == "1"
    assert found['vvm_request_seconds_count{path="/learn"}'] == "1"
    assert found['vvm_request_seconds_bucket{path="/learn",le="+Inf"}'] == "1"


def test_categories_never_seen_are_counted(client):
    post(client, "/predict", {"row": ROWS[0] | {"colour": "mauve"}})
    post(client, "/predict", {"row": ROWS[0]})
    assert client.get("/figures").json()["unseen"] == {"colour": 1}


def test_the_description_has_examples_that_work(client):
    paths = client.get("/openapi.json").json()["paths"]
    for path in ("/predict", "/labels", "/learn"):
        content = paths[path]["post"]["requestBody"]["content"]["application/json"]
        for example in content["examples"].values():
            assert post(client, path, example["value"]).status_code == 200


def test_what_is_not_there_is_counted_as_one(client):
    for path in ("/a", "/b", "/c?d"):
        assert client.get(path).status_code == 404
    text = client.get("/metrics").text
    assert 'vvm_requests_total{path="other",status="404"} 3' in text
    assert "/a" not in text


def test_many_rows_are_predicted_while_others_are_answered(client):
    answers = post(client, "/predict", {"rows": ROWS * 20}).json()["answers"]
    again = post(client, "/predict", {"rows": ROWS[:3]}).json()["answers"]
    assert len(answers) == 800
    assert [a["probabilities"] for a in answers[:3]] == [a["probabilities"] for a in again]


def test_with_new_classes_any_label_that_can_be_a_class_is_one(serving, vvm, tmp_path):
    lines = ["x0,x1,x2,colour,outcome"]
    lines += [f"{k},{-k},{k % 3},red,{'good' if k % 2 else 'bad'}" for k in range(20)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    asked = ("learn", "rows.csv", "--model", "new.vvm", "--learner", "adf", "--new-classes", "-q")
    assert vvm(*asked).code == 0
    with serving(path=tmp_path / "new.vvm") as client:
        for label in ("", " ", "a\0", "\ud800", "NA", "x" * 1001):
            body, kind = {"row": ROWS[0], "label": label}, {"content-type": "application/json"}
            answer = client.post("/learn", content=json.dumps(body), headers=kind)
            assert answer.status_code == 422
            assert "expected one of 'bad', 'good', or a new class" in answer.json()["error"]
        assert post(client, "/learn", {"row": ROWS[0], "label": "ugly"}).status_code == 200
        learn_all(client, 1)
        assert client.get("/model").json()["classes"] == ["bad", "good", "ugly"]
        assert "ugly" in post(client, "/predict", {"row": ROWS[1]}).json()["probabilities"]


@pytest.mark.parametrize("path", ["/predict", "/learn"])
@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_constants_that_json_has_not_are_refused(client, path, constant):
    row = json.dumps({"row": ROWS[0] | {"x0": "HERE"}, "label": "good"})
    kind = {"content-type": "application/json"}
    answer = client.post(path, content=row.replace('"HERE"', constant), headers=kind)
    assert answer.status_code == 400
    assert f"no JSON ({constant} is none; null stands for a missing" in answer.json()["error"]


def test_a_token_file_that_is_no_text_is_refused_in_one_line(tmp_path):
    file = tmp_path / "tokens"
    file.write_bytes(b"\xff\xfe\x00 secret\n")
    file.chmod(0o600)
    asked = ["serve", "--model", str(tmp_path / "m.vvm"), "--token-file", str(file)]
    result = CliRunner().invoke(command, asked)
    assert result.exit_code == 2
    assert result.stderr == f"vvm: {file}, line 1: expected 'read TOKEN' or 'write TOKEN'.\n"
