"""Options of `vvm learn` that change what is learned: a run goes on with those it began with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from virtualvector.streams.bad_input import BadInput

if TYPE_CHECKING:
    from virtualvector.cli.checkpoint import Checkpoint


class RunOptions(NamedTuple):
    """What was given on the command line; None where nothing was."""

    label: str | None = None
    categorical: tuple[str, ...] | None = None
    missing: tuple[str, ...] | None = None
    seed: int | None = None
    classes: tuple[str, ...] | None = None
    new_classes: bool | None = None
    passes: int | None = None
    shuffle: bool | None = None
    ignore: tuple[str, ...] | None = None
    id: tuple[str, ...] | None = None
    weight: str | None = None  # empty: no column has weights
    shards: int | None = None  # of a round; none: one machine learns row after row
    text: tuple[str, ...] | None = None

    def over(self, earlier: RunOptions) -> RunOptions:
        """Return what is given here, and elsewhere what was given earlier."""
        given = {name: value for name, value in self._asdict().items() if value is not None}
        return earlier._replace(**given)

    def with_defaults(self) -> RunOptions:
        """Return what holds where nothing was given; the label is found in the source."""
        return self.over(RunOptions(None, (), (), 0, (), False, 1, False, (), (), "", text=()))

    def as_dict(self) -> dict[str, Any]:
        """Return what is given as JSON has it."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self._asdict().items()
            if value is not None
        }

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Self:
        """Return what `as_dict` was made of."""
        given: dict[str, Any] = {name: stored.get(name) for name in cls._fields}
        for name, value in given.items():
            given[name] = tuple(value) if isinstance(value, list) else value
        return cls(**given)

    def check_same(self, earlier: RunOptions, *names: str) -> None:
        """Raise if some options, by default any, are given otherwise than earlier."""
        for name in names or self._fields:
            own, before = getattr(self, name), getattr(earlier, name)
            if own is not None and own != before:
                raise BadInput(
                    f"{_option(name, own)}: the run began with {_option(name, before)}; expected "
                    "the same, or nothing, to go on with it."
                )

    def check_fits(self, model: Checkpoint) -> None:
        """Raise if something is asked of a model that it can no longer do."""
        from virtualvector.cli.model_file import class_texts

        for option, kind, words in (("categorical", "category", "categorical"), ("text",) * 3):
            there = [column.name for column in model.columns if column.kind == kind]
            for name in getattr(self, option) or ():
                if name not in there:
                    raise BadInput(
                        f"--{option} {name}: the model has not learned it as {words}; expected "
                        f"some of {', '.join(map(repr, there)) or 'none'}, or nothing."
                    )
        learner = model.progress.model
        known = tuple(sorted(class_texts(learner).tolist()))
        if self.classes and not learner.takes_new_classes_ and tuple(sorted(self.classes)) != known:
            raise BadInput(
                f"{_option('classes', self.classes)}: the model knows {', '.join(known)}, and no "
                "other class may come; expected the same, or nothing."
            )
        if self.new_classes and not learner.takes_new_classes_:
            raise BadInput(
                f"--new-classes: the model knows {', '.join(known)}, and was learned without the "
                "option: no other class may come any more."
            )


def _option(name: str, value: Any) -> str:
    option = "--" + name.replace("_", "-")
    if value is None or value is False or value in ((), ""):
        return f"no {option}"
    if value is True:
        return option
    return f"{option} {','.join(value) if isinstance(value, tuple) else value}"
