"""What of a committee is written to a file, and whether it can have been learned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from virtualvector.auto.committee import Committee
from virtualvector.auto.online import Known
from virtualvector.auto.rows import CommitteeRows
from virtualvector.auto.validation import check_committee, check_parameters
from virtualvector.features.encoder import Encoder
from virtualvector.features.validation import check_encoder, check_room
from virtualvector.features.wide import WideEncoder
from virtualvector.learners.expert import Expert
from virtualvector.learners.one_vs_rest import OneVsRest
from virtualvector.learners.validation import checked_classes
from virtualvector.persistence.mixin import SavableMixin
from virtualvector.types import Labels
from virtualvector.wide.mixed import Mixed


class SavesCommittee(CommitteeRows, SavableMixin):
    """`save` of `AutoVVMClassifier`: a committee, or who has learned sparse tables in its place."""

    experts: Sequence[Expert] | None
    n_frequencies: int | None

    _learned: ClassVar[dict[str, Any]] = {
        "committee": Committee | OneVsRest | Mixed,  # the latter of sparse tables
        "encoder": Encoder | WideEncoder,
        "categorical": list[bool],
    }

    def _what_was_learned(self) -> dict[str, Any]:
        if self._wide is None:
            return super()._what_was_learned()
        own = self._wide._what_was_learned()
        return {"committee": own["posterior"], "encoder": own["encoder"], "categorical": []}

    def _take(self, learned: dict[str, Any]) -> None:
        is_sparse = isinstance(learned["committee"], OneVsRest)
        if is_sparse != isinstance(learned["encoder"], WideEncoder):
            raise ValueError("found inputs of another kind than experts; expected the same")
        if is_sparse and learned["categorical"]:
            raise ValueError("found categorical columns of sparse rows; expected none")
        if is_sparse:
            self._with_sparse(learned)
            return
        check_room(learned["encoder"])
        self._known = Known(learned["committee"], learned["encoder"])
        self._categorical = learned["categorical"]

    def _check_learned(self) -> Labels:
        if self._wide is not None:
            return self._check_sparse(self._wide)
        check_encoder(self._encoder, self._categorical, self.n_features_in_, self._committee.n_rows)
        if self._encoder.scaling != bool(self.scale):
            raise ValueError(f"found scale={self.scale!r}; expected what was learned with")
        names = ("experts", "n_frequencies", "budget", "random_state")
        check_parameters(self._committee, **{name: getattr(self, name) for name in names})
        check_committee(self._committee, self._encoder)
        classes = self._committee.classes
        return checked_classes(classes) if len(classes) else classes
