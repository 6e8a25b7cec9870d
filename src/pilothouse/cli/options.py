"""Groups of commands, and the options and arguments that several of them share."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import fields
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from pilothouse.cli.command import perform
from pilothouse.types.errors import PilothouseError

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Command = TypeVar("Command", bound=Callable[..., Coroutine[object, object, int]])

ConversationId = Annotated[str, typer.Argument(metavar="ID", help="The conversation's id.")]
OneConversation = Annotated[
    str | None, typer.Option("--conversation", metavar="ID", help="Only of this conversation.", show_default=False)
]
ModelId = Annotated[str, typer.Argument(metavar="ID", help="The model's id.")]
ServerName = Annotated[str, typer.Argument(metavar="SERVER", help="The server's name, prefix or id.")]
AnyServer = Annotated[str | None, typer.Argument(metavar="SERVER", help="The server; none means all.")]
_CONSENT = "Agree to start exactly the command that was shown with this fingerprint."
ConsentTo = Annotated[str | None, typer.Option("--consent", metavar="FINGERPRINT", help=_CONSENT, show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Replace = Annotated[bool, typer.Option("--replace", help="Write over a file that is there.")]


def new_app(help_text: str = "", **more: Any) -> typer.Typer:
    """Return an app with plain help: drawing boxes around it would take longer than everything else."""
    return typer.Typer(
        help=help_text,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
        **more,
    )


def command(
    app: typer.Typer, name: str | None = None, *, for_long: bool = False, **about: Any
) -> Callable[[Command], Command]:
    """Make a coroutine a command that ends with the exit code it returns; its `form` is an option for each field."""

    def add(work: Command) -> Command:
        parameters = inspect.signature(work, eval_str=True).parameters
        form = parameters["form"].annotation if "form" in parameters else None
        options = _options(form) if form is not None else []

        @functools.wraps(work)
        def typed(**given: Any) -> None:
            if form is not None:
                given["form"] = form(**{option.name: given.pop(option.name) for option in options})
            perform(lambda: work(**given), for_long=for_long)

        own = [one for one in parameters.values() if one.name != "form"]
        typed.__signature__ = inspect.Signature([*own, *options])  # type: ignore[attr-defined]
        app.command(name, **about)(typed)
        return work

    return add


def given(*names: str, **about: Any) -> Any:
    """Return the option of a form's field, which keeps its default unless the option is given."""
    return typer.Option(*names, show_default=False, **about)


def _options(form: type[DataclassInstance]) -> list[inspect.Parameter]:
    hints = get_type_hints(form, include_extras=True)
    kind = inspect.Parameter.KEYWORD_ONLY
    return [inspect.Parameter(one.name, kind, default=one.default, annotation=hints[one.name]) for one in fields(form)]


def require_change(form: DataclassInstance, command: str) -> None:
    """Raise one sentence when nothing was given that an `edit` could change."""
    # A list that was not given may come as an empty one.
    if all(getattr(form, field.name) in (field.default, [], ()) for field in fields(form)):
        raise PilothouseError("bad_request", "There is nothing to change.", fix=f"Say what: {command} --help lists it.")
