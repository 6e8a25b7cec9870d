"""Commands that take a form: an option for each of its fields."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeVar

import typer

Form = TypeVar("Form")


def given(kind: Any, *names: str, **about: Any) -> inspect.Parameter:
    """Return an option that is None, or False for a flag, unless it is given."""
    option = typer.Option(*names, show_default=False, **about)
    field = names[0].split("/")[0].removeprefix("--").replace("-", "_")
    default = False if kind is bool else None
    return inspect.Parameter(field, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def with_form(
    make: Callable[..., Form], options: Sequence[inspect.Parameter], *, needed: bool
) -> Callable[[Callable[[Any, Form], None]], Callable[..., None]]:
    """Give a command that takes something and a form an option for each field; `needed` says that it must be named."""

    def decorate(command: Callable[[Any, Form], None]) -> Callable[..., None]:
        first = next(iter(inspect.signature(command, eval_str=True).parameters.values()))
        if not needed:
            first = first.replace(default=None)

        @functools.wraps(command)
        def typed(**fields: Any) -> None:
            command(fields.pop(first.name), make(**fields))

        typed.__signature__ = inspect.Signature([first, *options])  # type: ignore[attr-defined]
        return typed

    return decorate
