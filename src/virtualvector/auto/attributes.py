"""What a committee can be asked, once it has learned something."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from virtualvector.auto import inspection
from virtualvector.auto.experts import usual_experts
from virtualvector.auto.plan import given_up
from virtualvector.auto.rows import CommitteeRows
from virtualvector.auto.sketch import Sketch
from virtualvector.auto.sparse import asked_of_either
from virtualvector.concurrency import of_one_moment
from virtualvector.features.encoder import Encoder
from virtualvector.learners.expert import Expert, checked_experts
from virtualvector.posterior.state import counters
from virtualvector.types import Array

CELLS_AT_ONCE = 2**22  # inputs of rows that are in memory


class CommitteeAttributes(CommitteeRows):
    """The attributes of `AutoVVMClassifier`, which describes them."""

    experts: Sequence[Expert] | None

    @property
    @asked_of_either
    def experts_(self) -> list[dict[str, Any]]:
        """The experts: what each assumes, its evidence, its weight and whether it is awake."""
        check_is_fitted(self)
        committee = self._committee
        return [
            expert._asdict()
            | {"evidence": float(evidence), "weight": float(weight), "awake": bool(awake)}
            for expert, evidence, weight, awake in zip(
                committee.experts,
                committee.evidence,
                committee.weights,
                committee.awake,
                strict=True,
            )
        ]

    @property
    @asked_of_either
    def history_(self) -> list[dict[str, Any]]:
        """Who was trusted when: the weights of all experts at moments along the stream."""
        check_is_fitted(self)
        return [
            {"n_rows": entry.n_rows, "weights": entry.weights}
            for entry in self._committee.history.entries
        ]

    @property
    @asked_of_either
    def n_seen_(self) -> int:
        """The number of rows learned."""
        check_is_fitted(self)
        route = self._route
        return self._committee.n_rows if route is None else route.n_seen

    @property
    @asked_of_either
    def n_missing_(self) -> Any:
        """The missing values seen in each column."""
        check_is_fitted(self)
        return self._encoder.missing.copy()

    @property
    @asked_of_either
    def is_categorical_(self) -> Any:
        """Which columns are categorical."""
        check_is_fitted(self)
        return np.array(self._categorical, bool)

    @property
    @asked_of_either
    def is_time_(self) -> Any:
        """Which columns hold dates or times."""
        check_is_fitted(self)
        return np.array(self._encoder.times, bool)

    @property
    @asked_of_either
    def takes_new_classes_(self) -> bool:
        """Whether classes may still come that have not been seen."""
        check_is_fitted(self)
        return self._committee.takes_new_classes

    @property
    @asked_of_either
    def n_awake_(self) -> int:
        """How many experts are awake."""
        check_is_fitted(self)
        return int(self._committee.awake.sum())

    @property
    @asked_of_either
    def given_up_(self) -> list[str]:
        """What the budget did not pay for, in words; nothing, unless rows are very wide."""
        check_is_fitted(self)
        committee, encoder = self._known
        wanted, space = self._wanted(encoder), committee.feature_space
        return given_up(wanted, committee.at_start, encoder.n_inputs, space)

    @property
    @of_one_moment
    @asked_of_either
    def n_bytes_(self) -> int:
        """The memory that everything learned takes; without frequencies, which a seed gives."""
        check_is_fitted(self)
        committee, encoder = self._known
        return inspection.n_bytes(committee) + encoder.n_bytes

    @property
    @asked_of_either
    def counters_(self) -> dict[str, float]:
        """What has happened to points: how many were evicted, merged, and so on; see `counters`.

        Summed over all posteriors of the experts there are now, awake or asleep. One that came
        from another has also what that one had lost before. Who keeps no points evicts every row.
        """
        check_is_fitted(self)
        return counters(inspection.states_of(self._committee))

    @property
    @of_one_moment
    @asked_of_either
    def weight_table_(self) -> list[dict[str, Any]]:
        """The weights of the columns for the most trusted expert, all of whom see them linearly.

        For each posterior and each column ``column``, ``class``, and the posterior's ``mean`` and
        standard ``deviation`` of the weight, which is for the column in running standard
        deviations. With two classes there is one posterior, for the second. A categorical column
        has a weight for each category with an input of its own, called ``country = NO``.
        """
        check_is_fitted(self)
        committee, encoder = self._known
        return inspection.weight_table(committee, self._labels(encoder), self._sketch)

    @property
    @of_one_moment
    def virtual_points_(self) -> Array | list[Array]:
        """The virtual points of the most trusted expert, which may have none.

        An array of shape (n_points, n_columns), whose columns are those of `weight_table_` for one
        class; a list of one such array per class if there are more than two. A point is a row as
        the expert sees it, of unit length, and times −1 if it is not of the class; what it sees
        beside the columns, Fourier features and the bias, is left out.
        """
        check_is_fitted(self)
        if self._wide is not None:
            points = self._points_of_sparse(self._wide)
            return points[0] if len(points) == 1 else points
        committee, encoder = self._known
        points = inspection.virtual_points(committee, encoder.n_inputs, self._sketch)
        return points[0] if len(points) == 1 else points

    def _labels(self, encoder: Encoder) -> list[str]:
        """Return what each input means."""
        places = [f"x{k}" for k in range(self.n_features_in_)]
        return encoder.labels(list(getattr(self, "feature_names_in_", places)))

    def _wanted(self, encoder: Encoder) -> tuple[Expert, ...]:
        """Return the experts that there should be."""
        if self.experts is not None:
            return checked_experts(self.experts)
        start = encoder.at_start
        return usual_experts(len(start.counts), len(start.categories))

    @property
    def _sketch(self) -> Sketch | None:
        """What narrows rows that are too wide for the budget; None: nothing does."""
        return None if self._route is None else self._route.sketch

    def _pieces(self, n_rows: int) -> Iterator[slice]:
        """Yield rows to turn into inputs at once: not so many that these fill the memory."""
        return (slice(k, k + self._at_once) for k in range(0, n_rows, self._at_once))

    @property
    def _at_once(self) -> int:
        most = 1 if self._route is None else max(self._route.most_inputs, 1)
        return max(CELLS_AT_ONCE // most, 1)

    @asked_of_either
    def _counters(self) -> dict[str, float]:
        committee, encoder = self._known
        return {
            "rows": committee.n_rows,
            "missing": int(encoder.missing.sum()),
            "experts": len(committee.experts),
            "awake": int(committee.awake.sum()),
        }

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that tables may be sparse, columns categorical, and values missing."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.experts is None and self.categorical_features is None
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags
