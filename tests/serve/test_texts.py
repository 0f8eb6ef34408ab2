"""A model of texts, served."""

import csv

import pytest
from typer.testing import CliRunner

import virtualvector
from tests.serve.conftest import learn_all
from virtualvector.cli.main import app as command
from virtualvector.cli.served_model import of_service
from virtualvector.serve.store import Store
from virtualvector.streams.bad_input import BadInput

NOTES = {"kept": ("sturdy and it fits", "a pleasure to use"), "sent back": ("broken", "too small")}


def learned_by(folder, *options):
    """Learn a file of texts or sparse rows; return the model file."""
    asked = ["learn", *options, "--covariance", "independent", "--model", folder / "m.vvm", "-q"]
    assert CliRunner().invoke(command, list(map(str, asked))).exit_code == 0
    return folder / "m.vvm"


@pytest.fixture
def texts(tmp_path):
    with (tmp_path / "notes.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["price", "note", "fate"])
        for k in range(60):
            fate = list(NOTES)[k % 2]
            rows.writerow([k % 7, f"{NOTES[fate][k // 2 % 2]}, said customer {k}", fate])
    return learned_by(tmp_path, tmp_path / "notes.csv", "--label", "fate", "--text", "note")


def test_texts_are_answered_and_their_labels_learned(serving, texts):
    row = {"price": 3, "note": "it is sturdy"}
    own = virtualvector.load(texts)
    expected = own.predict_proba({name: [value] for name, value in row.items()})[0]
    with serving(path=texts) as client:
        answers = client.post("/predict", json={"rows": [row, row | {"note": "broken"}]}).json()
        first, second = answers["answers"]
        assert list(first["probabilities"].values()) == expected.tolist()
        assert [first["label"], second["label"]] == ["kept", "sent back"]
        said = client.post("/labels", json={"id": first["id"], "label": "sent back"})
        assert said.json()["outcome"] == "accepted"
        learn_all(client, 1)
        assert client.get("/model").json()["rows_learned"] == 61
        again = client.post("/predict", json={"row": row}).json()["probabilities"]
        assert again["sent back"] > first["probabilities"]["sent back"]
        wrong = client.post("/predict", json={"row": {"price": "cheap", "note": "small"}})
        assert "column 'price': found 'cheap'" in wrong.json()["error"]


def test_sparse_rows_are_refused_by_name(tmp_path):
    (tmp_path / "rows.svm").write_text("".join(f"{k % 2} {1 + k % 5}:1\n" for k in range(40)))
    model = learned_by(tmp_path, tmp_path / "rows.svm")
    store = Store(f"sqlite:///{tmp_path}/own.store")
    with pytest.raises(BadInput, match="a model of sparse rows, which is not served"):
        of_service(model, store)
    store.close()
