"""Options and arguments that several commands share."""

from __future__ import annotations

from typing import Annotated

import typer

ConversationId = Annotated[str, typer.Argument(metavar="ID", help="The conversation's id.")]
ModelId = Annotated[str, typer.Argument(metavar="ID", help="The model's id.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[
    int | None, typer.Option(help="The port; by default 7420, or the next one that is free.", show_default=False)
]
NoBrowser = Annotated[bool, typer.Option("--no-browser", help="Only print the link; open no browser.")]
Expose = Annotated[bool, typer.Option("--expose-to-network", help="Allow an address that others on the network reach.")]

TlsCert = Annotated[
    str | None, typer.Option(metavar="FILE", help="Speak HTTPS, with this certificate (PEM).", show_default=False)
]
TlsKey = Annotated[
    str | None, typer.Option(metavar="FILE", help="The certificate's private key (PEM).", show_default=False)
]


def new_app(help_text: str) -> typer.Typer:
    """Return an app with plain help: drawing boxes around it would take longer than everything else."""
    return typer.Typer(
        help=help_text,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
        context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    )
