"""Searching the web and making pictures: by which service, and how it stands."""

from typing import Annotated, Literal

from pilothouse.types.json import Body, Frozen
from pilothouse.types.setting import Setting

SearchKind = Literal["none", "brave", "tavily", "exa", "searxng"]
PictureKind = Literal["none", "openai", "gemini", "automatic1111"]
# The two things that a service is chosen for.
WebUse = Literal["search", "pictures"]

SEARCHING = "Searching the web"
PICTURES = "Making pictures"


class WebSettings(Frozen, frozen=True):
    """What a person sets about the web."""

    search: Annotated[
        SearchKind,
        Setting(
            tab="web",
            part=SEARCHING,
            label="Search with",
            note="The agent can search once a service is set up and works. It reads pages without one.",
            what="The service that searches the web",
            choices={
                "none": "Nothing: the agent cannot search",
                "brave": "Brave Search",
                "tavily": "Tavily",
                "exa": "Exa",
                "searxng": "SearXNG, a server of your own",
            },
        ),
    ] = "none"
    search_address: Annotated[
        str | None,
        Setting(
            tab="web",
            part=SEARCHING,
            label="Address of the search service",
            note="Left empty: the service's own. SearXNG has none of its own.",
            usual="https://…",
            text="address",
        ),
    ] = None
    own_addresses: Annotated[
        str | None,
        Setting(
            tab="web",
            part="Pages of your own network",
            label="Hosts of your own network that may be read",
            note="Pages inside your network are refused, but for hosts that you name here: "
            "localhost:3000, wiki.example.lan.",
            usual="None",
            text="hosts",
        ),
    ] = None
    pictures: Annotated[
        PictureKind,
        Setting(
            tab="web",
            part=PICTURES,
            label="Make pictures with",
            note="The agent can make pictures once a service is set up.",
            what="The service that makes pictures",
            choices={
                "none": "Nothing: the agent makes no pictures",
                "openai": "OpenAI, or what speaks its images API",
                "gemini": "Google Gemini",
                "automatic1111": "Stable Diffusion web UI on your own machine",
            },
        ),
    ] = "none"
    pictures_address: Annotated[
        str | None,
        Setting(
            tab="web",
            part=PICTURES,
            label="Address of the picture service",
            note="Left empty: the service's own.",
            usual="https://…",
            text="address",
        ),
    ] = None
    pictures_model: Annotated[
        str | None,
        Setting(
            tab="web",
            part=PICTURES,
            label="Model that makes them",
            note="Left empty: the service's usual one.",
            usual="The usual one",
            text="name",
        ),
    ] = None


class WebServiceView(Frozen, frozen=True):
    """A service that searches or makes pictures, as a person sees it."""

    use: WebUse
    # Empty where none is chosen.
    name: str = ""
    address: str = ""
    wants_key: bool = False
    has_key: bool = False
    # Where a person gets a key.
    key_page: str = ""
    # Whether the agent has it.
    offered: bool = False
    # Why it has it not, in a sentence.
    problem: str = ""


class WebView(Frozen, frozen=True):
    """Who searches the web, and who makes pictures."""

    services: tuple[WebServiceView, ...]


class WebKey(Body, frozen=True):
    """A key for the service that is chosen; null takes it away."""

    value: str | None


class WebTest(Frozen, frozen=True):
    """What came of asking a service something."""

    ok: bool
    message: str
