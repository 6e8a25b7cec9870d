"""Which servers, tools and provider's own tools a conversation or a single message uses."""

from typing import Literal, NamedTuple

from pilothouse.types.json import Frozen

# Whether a model looks for the tools of servers instead of being sent all of them.
OnDemand = Literal["auto", "always", "never"]


class ServerChoice(Frozen, frozen=True):
    """One server by its name or id; no tools named means all of them."""

    name: str
    tools: tuple[str, ...] = ()


class NativeTools(Frozen, frozen=True):
    """The provider's own tools; None leaves the provider's default, True and False switch on and off."""

    web_search: bool | None = None
    code_execution: bool | None = None
    url_context: bool | None = None
    image_generation: bool | None = None


class Selection(Frozen, frozen=True):
    """Replaces the default: exactly these servers (None means all that are enabled) and these native tools."""

    servers: tuple[ServerChoice, ...] | None = None
    native_tools: NativeTools = NativeTools()
    # The built-in tools by name; None means those that fit the conversation.
    built_in: tuple[str, ...] | None = None
    # Tools of servers, `server.tool`, that are offered before others where there is no room for all.
    pinned: tuple[str, ...] = ()


class ServerName(NamedTuple):
    """What a server is called, and what a permission for any of its tools is bound to."""

    name: str
    # Empty for one that cannot be used.
    key: str = ""
