"""Files of format 3 say of tables what one of format 4 would."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from virtualvector import AutoVVMClassifier, Expert, WideVVMClassifier, persistence
from virtualvector.auto import classifier
from virtualvector.kernels.recalibration import Recalibration
from virtualvector.persistence.document import from_bytes, to_bytes


def as_format_10(document, arrays):
    """Take from a document of a committee what format 11 brought."""
    for path in document["state"]["committee"].pop("recalibration").values():
        del arrays[path]


def as_format_9(document, arrays):
    """Take from a document of a committee what format 10 brought."""
    as_format_10(document, arrays)
    for posterior in document["state"]["committee"]["posteriors"]:
        posterior["settings"].pop("independent", None)  # which may be those of an earlier one


def as_format_8(document, arrays):
    """Take from a document of a committee what format 9 brought."""
    as_format_9(document, arrays)
    committee = document["state"]["committee"]
    for expert in (*document["parameters"]["experts"], *committee["at_start"]):
        del expert["rank"]
    for path in (committee.pop("first_rows") or {}).values():
        del arrays[path]


def as_format_5(document, arrays):
    """Take from a document of a committee what format 6 brought, but for `n_first`."""
    as_format_8(document, arrays)
    committee = document["state"]["committee"]
    for expert in (*document["parameters"]["experts"], *committee["at_start"]):
        del expert["reach"]
    for posterior in committee["posteriors"]:
        del posterior["settings"]["rank"]
    del document["parameters"]["new_columns"], committee["feature_space"]["n_scaled"]
    del arrays[committee.pop("counts")]


def as_format_4(document, arrays):
    """Take from a document of a committee what format 5 brought; it may not count on any of it."""
    as_format_5(document, arrays)
    committee, encoder = document["state"]["committee"], document["state"]["encoder"]
    for expert in (*document["parameters"]["experts"], *committee["at_start"]):
        del expert["columns"], expert["squares"]
    del committee["feature_space"]["n_numbers"], encoder["most_statistics"], encoder["n_first"]
    for path in (*committee.pop("pool").values(), encoder.pop("statistics")["totals"]):
        del arrays[path]
    arrays["committee/corrections"] = np.delete(arrays["committee/corrections"], [1, 14, 15])
    arrays["committee/corrections"] /= arrays["committee/corrections"].sum()


@pytest.fixture
def older(tmp_path, monkeypatch):
    """Write a model as format 3 had it, whose categories were spelled as they came."""
    monkeypatch.setattr(classifier, "statistics_for", lambda n_classes: 0)

    def write(respell):
        rows = pd.DataFrame({"on": [True, False] * 6, "town": list("abcdefghijkl")})
        model = AutoVVMClassifier(experts=[Expert(None, 1.0)]).fit(rows, [0, 1] * 6)
        path = tmp_path / "m.vvm"
        model.save(path)
        document, arrays = from_bytes(path.read_bytes())
        as_format_4(document, arrays)
        del document["parameters"]["missing_values"]
        encoder = document["state"]["encoder"]
        del encoder["times"], arrays[encoder.pop("seen")]
        encoder["categories"] = [
            [column, [[respell.get(name, name), place] for name, place in pairs]]
            for column, pairs in encoder["categories"]
        ]
        path.write_bytes(to_bytes(document | {"format": 3}, arrays))
        return model, rows, path

    return write


def test_categories_of_older_files_have_their_one_spelling(older):
    model, rows, path = older({"true": "True", "false": "False"})
    again = persistence.read(path).model
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    assert again.is_time_.tolist() == [False, False]
    assert again.missing_values is None
    texts = rows.astype({"on": str})
    np.testing.assert_array_equal(again.predict_proba(texts), model.predict_proba(rows))


def test_of_a_full_column_any_category_may_have_been_seen(older):
    model, rows, path = older({})
    new = rows.assign(on="perhaps", town="z")
    assert model.count_unseen(new).tolist() == [12, 12]
    assert persistence.read(path).model.count_unseen(new).tolist() == [12, 0]


def test_what_format_4_brought_is_refused_in_format_3(older, tmp_path):
    model, *_ = older({})
    path = tmp_path / "n.vvm"
    model.save(path)
    document, arrays = from_bytes(path.read_bytes())
    as_format_4(document, arrays)
    path.write_bytes(to_bytes(document | {"format": 3}, arrays))
    with pytest.raises(persistence.BadModelFile, match="missing_values"):
        persistence.read(path)
    del document["parameters"]["missing_values"]
    path.write_bytes(to_bytes(document | {"format": 3}, arrays))
    with pytest.raises(persistence.BadModelFile, match="times or what was seen"):
        persistence.read(path)


def test_files_before_format_6_have_no_later_columns(tmp_path):
    rows = pd.DataFrame({"on": [True, False] * 6, "n": np.arange(12.0)})
    model = AutoVVMClassifier(experts=[Expert(None, 1.0)]).partial_fit(rows, [0, 1] * 6)
    path = tmp_path / "m.vvm"
    model.save(path)
    document, arrays = from_bytes(path.read_bytes())
    as_format_5(document, arrays)
    path.write_bytes(to_bytes(document | {"format": 5}, arrays))
    with pytest.raises(persistence.BadModelFile, match="n_first; expected none before format 6"):
        persistence.read(path)
    del document["state"]["encoder"]["n_first"]
    path.write_bytes(to_bytes(document | {"format": 5}, arrays))
    again = persistence.read(path).model
    assert (again.new_columns, again._encoder.n_first) == ("error", 2)
    assert again._committee.counts.tolist() == [6.0, 6.0]
    assert again._committee.feature_space.n_scaled == 0
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    again.set_params(new_columns="add").learn_one({"n": 1.0, "new": "red"}, 1)
    assert again.feature_names_in_.tolist() == ["on", "n", "new"]


def test_what_format_6_brought_to_committees_is_refused_in_format_5(tmp_path):
    rows = np.random.default_rng(0).normal(size=(20, 2))
    experts = [Expert(None, 1.0), Expert(None, 3.0, reach=2.0)]
    model = AutoVVMClassifier(experts=experts).partial_fit(rows, [0, 1] * 10)
    path = tmp_path / "m.vvm"
    model.save(path)
    document, arrays = from_bytes(path.read_bytes())
    as_format_8(document, arrays)
    del document["parameters"]["new_columns"], document["state"]["encoder"]["n_first"]
    path.write_bytes(to_bytes(document | {"format": 5}, arrays))
    with pytest.raises(persistence.BadModelFile, match="an expert with reach; expected none"):
        persistence.read(path)
    for expert in document["parameters"]["experts"] + document["state"]["committee"]["at_start"]:
        del expert["reach"]
    for posterior in document["state"]["committee"]["posteriors"]:
        del posterior["settings"]["rank"]
    path.write_bytes(to_bytes(document | {"format": 5}, arrays))
    with pytest.raises(persistence.BadModelFile, match="found counts; expected none before"):
        persistence.read(path)


def test_first_rows_of_files_before_format_9_are_not_replayed(tmp_path):
    rows = np.random.default_rng(0).normal(size=(40, 2))
    labels = (rows[:, 0] > 0).astype(int)
    model = AutoVVMClassifier(experts=[Expert(None, 1.0)]).partial_fit(rows[:20], labels[:20])
    path = tmp_path / "m.vvm"
    model.save(path)
    document, arrays = from_bytes(path.read_bytes())
    for expert in (*document["parameters"]["experts"], *document["state"]["committee"]["at_start"]):
        del expert["rank"]
    as_format_9(document, arrays)
    path.write_bytes(to_bytes(document | {"format": 8}, arrays))
    with pytest.raises(persistence.BadModelFile, match="first rows; expected none before format 9"):
        persistence.read(path)
    for place in document["state"]["committee"].pop("first_rows").values():
        del arrays[place]
    path.write_bytes(to_bytes(document | {"format": 8}, arrays))
    again = persistence.read(path).model
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))
    # As when nothing is replayed: weights go on from where they are.
    went_on = again.partial_fit(rows[20:32], labels[20:32])
    replayed = model.partial_fit(rows[20:32], labels[20:32])
    assert went_on.n_seen_ == replayed.n_seen_ == 32
    assert went_on.weight_table_ != replayed.weight_table_


def test_experts_of_files_before_format_9_have_full_covariances(tmp_path):
    rows = np.random.default_rng(0).normal(size=(300, 2))
    labels = (rows[:, 0] > 0).astype(int)
    model = AutoVVMClassifier(experts=[Expert(None, 1.0), Expert(None, 3.0)])
    path = tmp_path / "m.vvm"
    model.partial_fit(rows, labels).save(path)
    document, arrays = from_bytes(path.read_bytes())
    path.write_bytes(to_bytes(document | {"format": 8}, arrays))
    with pytest.raises(persistence.BadModelFile, match="an expert with rank; expected none before"):
        persistence.read(path)
    as_format_8(document, arrays)
    path.write_bytes(to_bytes(document | {"format": 8}, arrays))
    again = persistence.read(path).model
    assert [expert["rank"] for expert in again.experts_] == [None] * len(model.experts_)
    assert again.experts == [Expert(None, 1.0), Expert(None, 3.0)]
    np.testing.assert_array_equal(again.predict_proba(rows), model.predict_proba(rows))


def test_weights_of_files_before_format_10_are_not_independent(tmp_path):
    rows = sparse.random(60, 9, 0.4, "csr", rng=np.random.default_rng(0))
    model = WideVVMClassifier(rank=1).fit(rows, np.arange(60) % 2)
    path = tmp_path / "m.vvm"
    model.save(path)
    document, arrays = from_bytes(path.read_bytes())
    path.write_bytes(to_bytes(document | {"format": 9}, arrays))
    with pytest.raises(persistence.BadModelFile, match="expected none before format 10"):
        persistence.read(path)
    mixture = document["state"]["posterior"]
    for known in (mixture, *mixture["others"]):
        known["settings"].pop("independent", None)
    for place in mixture.pop("rates").values():
        del arrays[place]
    path.write_bytes(to_bytes(document | {"format": 9}, arrays))
    with pytest.raises(persistence.BadModelFile, match=r"shape|another"):  # rates had some trust
        persistence.read(path)


def test_files_before_format_11_have_nothing_recalibrated(tmp_path):
    rows = np.random.default_rng(0).normal(size=(60, 2))
    model = AutoVVMClassifier(experts=[Expert(None, 1.0), Expert(None, 3.0)])
    model.partial_fit(rows, np.argmax(np.column_stack([rows, 0.3 * np.ones(60)]), axis=1))
    path = tmp_path / "m.vvm"
    model.save(path)
    document, arrays = from_bytes(path.read_bytes())
    path.write_bytes(to_bytes(document | {"format": 10}, arrays))
    with pytest.raises(persistence.BadModelFile, match="recalibration; expected none before"):
        persistence.read(path)
    as_format_10(document, arrays)
    path.write_bytes(to_bytes(document | {"format": 10}, arrays))
    again = persistence.read(path).model._committee.recalibration
    assert all(map(np.array_equal, again, Recalibration.start(3)))
