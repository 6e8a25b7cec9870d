"""The commands under `pilothouse models`."""

from __future__ import annotations

from typing import Annotated

import typer

from pilothouse.cli.command import perform
from pilothouse.cli.form_options import given, with_form
from pilothouse.cli.model_form import ModelForm, Switch, ToolCalls
from pilothouse.cli.options import AsJson, ModelId, new_app

models_app = new_app("List, add, edit, remove and test models.")

PROVIDERS = "anthropic-compatible, openai-compatible, openai-responses, ollama, gemini, embedded or scripted."
SOURCES = "Where its key comes from: env:NAME, secret:NAME, or empty for none."


# One for each field of the form.
FORM = (
    given(str | None, "--name", help="The name to show."),
    given(str | None, "--provider", help=PROVIDERS),
    given(str | None, "--model", "-m", help="The provider's name of the model."),
    given(str | None, "--base-url", help="Where it is, if not at the provider's own address."),
    given(str | None, "--key-source", help=SOURCES),
    given(bool, "--key", help="Ask for the key, or read it from what is piped in, and keep it as a secret."),
    given(int | None, "--context-window", min=1, help="How many tokens it can take in."),
    given(int | None, "--max-tokens", min=1, help="The longest answer, in tokens."),
    given(bool | None, "--thinking/--no-thinking", help="Whether it can think first."),
    given(bool | None, "--images/--no-images", help="Whether it can see images."),
    given(ToolCalls | None, "--tool-calls", help="How it calls tools; by default as its provider does, else in text."),
    given(Switch | None, "--web-search", help="The provider's own web search."),
    given(Switch | None, "--code-execution", help="The provider's own code execution."),
    given(Switch | None, "--url-context", help="The provider's own reading of addresses."),
)


@models_app.command("list")
def list_models(json: AsJson = False) -> None:
    """List the models; a star marks the default."""
    from pilothouse.cli import models as command

    perform(lambda: command.list_models(as_json=json))


@models_app.command()
@with_form(ModelForm, FORM)
def add(
    model_id: Annotated[str | None, typer.Option("--id", help="The id to give it.", show_default=False)] = None,
    *,
    form: ModelForm,
) -> None:
    """Add a model and print its id.

    The first one becomes the default.
    """
    from pilothouse.cli import models as command

    perform(lambda: command.add(model_id, form))


@models_app.command()
@with_form(ModelForm, FORM)
def edit(model_id: ModelId, *, form: ModelForm) -> None:
    """Change what is given of a model, and keep the rest."""
    from pilothouse.cli import models as command

    perform(lambda: command.edit(model_id, form))


@models_app.command()
def remove(model_id: ModelId) -> None:
    """Remove a model and the key that was kept for it."""
    from pilothouse.cli import models as command

    perform(lambda: command.remove(model_id))


@models_app.command()
def default(
    model_id: Annotated[str | None, typer.Argument(metavar="ID", help="The model's id; none says which it is.")] = None,
) -> None:
    """Make a model the default, or say which one is."""
    from pilothouse.cli import models as command

    perform(lambda: command.default(model_id))


@models_app.command("test")
def try_model(
    model_id: Annotated[
        str | None, typer.Argument(metavar="ID", help="The model's id; none takes the default.")
    ] = None,
) -> None:
    """Make a real, tiny request to a model.

    It says how long the answer took, or what the provider said instead.
    """
    from pilothouse.cli import models as command

    perform(lambda: command.test(model_id))


@models_app.command("find", hidden=True)
@models_app.command()
def found(
    host: Annotated[
        str, typer.Argument(help="Look on this machine instead: nas.local, 192.168.1.5:8080.", show_default=False)
    ] = "",
) -> None:
    """Find model servers here and keys in the environment.

    Each comes with the command that adds it. Another machine is asked only if you name it.
    """
    from pilothouse.cli import models as command

    perform(lambda: command.found(host))


@models_app.command("confirm-key")
def confirm_key(model_id: ModelId) -> None:
    """Let a key go to the address its model has now."""
    from pilothouse.cli import models as command

    perform(lambda: command.confirm_key(model_id))
