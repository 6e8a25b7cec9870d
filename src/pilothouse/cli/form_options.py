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
    make: Callable[..., Form], options: Sequence[inspect.Parameter]
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command that takes a `form` an option for each of the form's fields."""
    names = [option.name for option in options]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = [one for one in inspect.signature(command, eval_str=True).parameters.values() if one.name != "form"]

        @functools.wraps(command)
        def typed(**given: Any) -> None:
            form = make(**{name: given.pop(name) for name in names})
            command(**given, form=form)

        typed.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        return typed

    return decorate
