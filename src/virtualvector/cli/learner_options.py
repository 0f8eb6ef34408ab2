"""From the options of `vvm learn` to the learner that they describe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self

import typer

from virtualvector.streams.bad_input import BadInput
from virtualvector.streams.columns import listed

if TYPE_CHECKING:
    from virtualvector.auto.classifier import AutoVVMClassifier
    from virtualvector.learners.expert import Expert
    from virtualvector.streams import Column
    from virtualvector.wide.classifier import WideVVMClassifier

LEARNING = "Learning"


class Learner(StrEnum):
    """What learns."""

    auto = "auto"
    vvm = "vvm"
    adf = "adf"
    window_ep = "window-ep"


class Features(StrEnum):
    """What is seen of a row."""

    linear = "linear"
    rbf = "rbf"


class Covariance(StrEnum):
    """What is kept of how uncertain weights are together."""

    full = "full"
    low_rank = "low-rank"
    diagonal = "diagonal"
    independent = "independent"


class Choice(NamedTuple):
    """What was asked for; None where nothing was."""

    learner: Annotated[
        Learner | None,
        typer.Option(
            help="auto, the default: a committee that needs no settings. vvm: a Gaussian and "
            "virtual points; adf: a Gaussian; window-ep: a Gaussian and the last rows.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    buffer_size: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="B",
            help="Points of vvm, and rows of window-ep; by default 30.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    features: Annotated[
        Features | None,
        typer.Option(
            help="linear, the default: planes. rbf: curves, by Fourier features. Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    label_noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            max=0.49,
            metavar="E",
            help="Share of labels that are wrong whatever the row; by default 0. Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    margin_noise: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            metavar="S2",
            help="Variance of the noise near the boundary; by default 1, for rbf 0.1. "
            "Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    half_life: Annotated[
        float | None,
        typer.Option(
            min=1e-3,
            metavar="ROWS",
            help="In which weights drift half away; by default never. Not for auto.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    hedge: Annotated[
        bool | None,
        typer.Option(
            "--hedge/--no-hedge",
            help="With vvm and label noise: whether adf learns the same rows beside it, and "
            "predictions are of both, by how well each has predicted so far; by default they are.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    budget: Annotated[
        float | None,
        typer.Option(
            min=1.0,
            metavar="N",
            help="Multiplications per row that may be spent, and 12 bytes of memory for each; by "
            "default 1.5 million and 15,000 more for each column, at most four million.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    covariance: Annotated[
        Covariance | None,
        typer.Option(
            help="Of weights. full, the default: all of it, in tables of up to 20,000 columns. "
            "low-rank: a precision each, and some directions; diagonal: without these. For texts "
            "and sparse rows, which get low-rank by themselves; linear.",
            rich_help_panel=LEARNING,
        ),
    ] = None
    rank: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="L",
            help="Directions of low-rank; by default 20, or what 256 MB are enough for.",
            rich_help_panel=LEARNING,
        ),
    ] = None

    @property
    def may_be_wide(self) -> bool:
        """Whether texts and sparse rows can be learned as it was said."""
        is_full = self.covariance is Covariance.full
        return not (is_full or self.features is Features.rbf or self.budget is not None)

    @property
    def is_wide(self) -> bool:
        """Whether a covariance was asked for that is not full."""
        return self.rank is not None or self.covariance not in (None, Covariance.full)

    def check(self) -> None:
        """Raise for options that do not go together."""
        self.experts()
        if self.rank is not None and self.covariance not in (None, Covariance.low_rank):
            raise typer.BadParameter(
                f"--rank is not for --covariance {self.covariance}; expected low-rank."
            )
        if self.is_wide and not self.may_be_wide:
            raise typer.BadParameter(
                "--covariance low-rank, diagonal and independent are linear, and not for "
                "--features rbf or --budget."
            )

    def experts(self) -> tuple[Expert, ...] | None:
        """Return who learns: one expert, or two that are hedged; None: a committee of its own.

        Examples
        --------
        >>> from virtualvector.cli.learner_options import Choice, Learner
        >>> Choice(Learner.adf, margin_noise=2.0).experts()[0].margin_noise
        2.0
        """
        from virtualvector.learners.expert import Expert

        learner = self.learner or Learner.auto
        if learner is Learner.auto:
            self._refuse(
                "buffer_size", "features", "label_noise", "margin_noise", "half_life", "hedge"
            )
            return None
        if learner is Learner.adf:
            self._refuse("buffer_size")
        if learner is not Learner.vvm:
            self._refuse("hedge")
        linear = self.features is not Features.rbf
        noise = (1.0 if linear else 0.1) if self.margin_noise is None else self.margin_noise
        merging = learner is Learner.vvm
        expert = Expert(
            bandwidth=None if linear else 0.5,
            margin_noise=noise,
            label_noise=self.label_noise or 0.0,
            buffer_size=0 if learner is Learner.adf else self._buffer_size,
            half_life=self.half_life,
            merge_pairs=5 if merging else 0,
            eviction="oldest" if learner is Learner.window_ep else "divergence",
        )
        if merging and self.hedge is not False and expert.label_noise and expert.buffer_size:
            return expert, expert._replace(buffer_size=0, merge_pairs=0)
        return (expert,)

    @property
    def _buffer_size(self) -> int:
        return 30 if self.buffer_size is None else self.buffer_size

    def model(
        self,
        columns: Sequence[Column],
        n_classes: int,
        seed: int,
        missing: Sequence[str] | None = None,
    ) -> AutoVVMClassifier | WideVVMClassifier:
        """Return what will learn rows of these columns, and about so many classes."""
        from virtualvector import AutoVVMClassifier

        wide = [column.name for column in columns if column.kind in ("text", "sparse")]
        if wide and not self.may_be_wide:
            raise BadInput(
                f"{listed(wide)}: texts and sparse rows are learned linearly, with a covariance of "
                "low rank; expected no --features rbf, --budget or --covariance full."
            )
        if wide or self.is_wide:
            if self.hedge:
                raise BadInput(
                    "--hedge: with a covariance of low rank vvm learns alone; expected --no-hedge, "
                    "or nothing."
                )
            return self._wide_model(columns, n_classes, seed, missing)
        return AutoVVMClassifier(
            budget=self.budget,
            experts=self.experts(),
            categorical_features=[k for k, column in enumerate(columns) if column.categorical],
            missing_values=None if missing is None else list(missing),
            n_classes=max(n_classes, 2),
            random_state=seed,
        )

    def _wide_model(
        self,
        columns: Sequence[Column],
        n_classes: int,
        seed: int,
        missing: Sequence[str] | None,
    ) -> WideVVMClassifier:
        from virtualvector import WideVVMClassifier

        texts = [k for k, column in enumerate(columns) if column.text]
        parameters = self._wide_parameters()
        self._check_wide(parameters, columns)
        return WideVVMClassifier(
            **parameters,
            text_features=texts or None,
            n_places=max(column.n_places for column in columns) or None,
            categorical_features=[k for k, column in enumerate(columns) if column.categorical],
            missing_values=None if missing is None else list(missing),
            n_classes=max(n_classes, 2),
            random_state=seed,
        )

    def _check_wide(self, parameters: dict[str, Any], columns: Sequence[Column]) -> None:
        """Raise for what a covariance of low rank cannot do."""
        n_points, why = parameters.get("buffer_size", 0), "with a covariance of low rank"
        if parameters.get("margin_noise") == 0.0:
            raise BadInput(f"--margin-noise 0: {why} there has to be some; expected more than 0.")
        is_hashed = any(column.kind in ("text", "category") for column in columns)
        n_weights = 1 + sum(column.n_places or 1 for column in columns)
        if n_points >= n_weights and not is_hashed:
            raise BadInput(
                f"--buffer-size {n_points}: {why} there are fewer points than weights, which are "
                f"{n_weights}; expected less, or --covariance full."
            )

    def _wide_parameters(self) -> dict[str, Any]:
        """Return what a linear learner of wide rows assumes: as usual, where nothing was said."""
        expert = (self.experts() or (None,))[0]
        names = ("margin_noise", "label_noise", "buffer_size", "half_life", "merge_pairs")
        said = {} if expert is None else {name: getattr(expert, name) for name in names}
        said |= {} if expert is None else {"eviction": expert.eviction, "mix": False}
        covariance = Covariance.low_rank if self.covariance is None else self.covariance
        return said | {"covariance": covariance.value, "rank": self.rank}

    def check_same(self, model: AutoVVMClassifier | WideVVMClassifier) -> None:
        """Raise if something else was asked for than a model is."""
        from virtualvector import AutoVVMClassifier
        from virtualvector.learners.expert import Expert

        if not isinstance(model, AutoVVMClassifier):
            said, known = self._wide_parameters(), model.get_params()
            is_same = all(known[name] == value for name, value in said.items())
            self._check_asked(self.may_be_wide and is_same)
            return
        if self.is_wide:
            self._check_asked(False)
        experts = None if model.experts is None else tuple(Expert(*e) for e in model.experts)
        self._check((experts, model.budget))

    def check_same_choice(self, other: Choice) -> None:
        """Raise if something else was asked for than in another choice."""
        self._check_asked((self.covariance, self.rank) == (other.covariance, other.rank))
        self._check((other.experts(), other.budget))

    def _check(self, expected: tuple[tuple[Expert, ...] | None, float | None]) -> None:
        self._check_asked((self.experts(), self.budget) == expected)

    def _check_asked(self, is_same: bool) -> None:
        asked = any(option is not None for option in self)
        if asked and not is_same:
            given = " ".join(_given(name, value) for name, value in self.as_dict().items())
            raise BadInput(
                f"{given}: the model has been learned with other options; expected the same ones, "
                "or none, to go on with it."
            )

    def as_dict(self) -> dict[str, Any]:
        """Return what was asked for as JSON has it."""
        return {name: value for name, value in self._asdict().items() if value is not None}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `as_dict` was made of."""
        given: dict[str, Any] = {name: stored.get(name) for name in cls._fields}
        kinds = {"learner": Learner, "features": Features, "covariance": Covariance}
        for name, kind in kinds.items():
            given[name] = None if given[name] is None else kind(given[name])
        return cls(**given)

    def _refuse(self, *names: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise typer.BadParameter(
                    f"{_option(name)} is not for --learner {self.learner or Learner.auto}."
                )


def _given(name: str, value: Any) -> str:
    """Return an option as it was given."""
    if isinstance(value, bool):
        return _option(name if value else f"no_{name}")
    return f"{_option(name)} {value}"


def _option(name: str) -> str:
    return "--" + name.replace("_", "-")
