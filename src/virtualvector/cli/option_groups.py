"""Options that belong together are declared once, and reach a verb as one argument."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, get_type_hints


def takes_groups(verb: Callable[..., None]) -> Callable[..., None]:
    """Let a verb have the options of its groups, which are named tuples, one by one.

    Examples
    --------
    >>> from typing import NamedTuple
    >>> from virtualvector.cli.option_groups import takes_groups
    >>> class Size(NamedTuple):
    ...     width: int = 3
    ...     height: int = 2
    >>> @takes_groups
    ... def draw(name: str, *, bold: bool = False, size: Size) -> None:
    ...     print(name, bold, size)
    >>> inspect.signature(draw)
    <Signature (name: str, *, bold: bool = False, width: int = 3, height: int = 2) -> None>
    >>> draw(name="box", bold=True, width=7, height=1)
    box True Size(width=7, height=1)
    """
    own = inspect.signature(verb, eval_str=True)
    groups: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in own.parameters.items()
        if hasattr(parameter.annotation, "_fields")
    }

    @functools.wraps(verb)
    def with_groups(**options: Any) -> None:
        for name, group in groups.items():
            options[name] = group(**{field: options.pop(field) for field in group._fields})
        verb(**options)

    parameters = []
    for name, parameter in own.parameters.items():
        parameters += _options_of(groups[name], parameter.kind) if name in groups else [parameter]
    with_groups.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
    with_groups.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_groups


def _options_of(group: Any, kind: Any) -> list[inspect.Parameter]:
    types, defaults = get_type_hints(group, include_extras=True), group._field_defaults
    return [
        inspect.Parameter(name, kind, default=defaults[name], annotation=types[name])
        for name in group._fields
    ]
