"""A configured model, as `models.json` keeps it."""

from typing import Literal, get_args

import msgspec

from pilothouse.types.json import Frozen, JsonObject
from pilothouse.types.prices import Prices
from pilothouse.types.selection import NativeTools
from pilothouse.types.stream import Usage
from pilothouse.types.usage import TokenUsage, Used

Provider = Literal[
    "anthropic-compatible",
    "openai-compatible",
    "openai-responses",
    "ollama",
    "gemini",
    "bedrock-converse",
    "embedded",
    "scripted",
    "plugin",
]
PROVIDERS: tuple[Provider, ...] = get_args(Provider)
# What proves with each request who asks, with what this machine has for it.
SigningKind = Literal["aws", "google", "copilot"]
SIGNING: tuple[SigningKind, ...] = get_args(SigningKind)
Signing = Literal[""] | SigningKind
KeyKind = Literal["none", "env", "secret", "literal"] | SigningKind
# How a model calls tools: as its provider does, in lines of text, or in JSON that its server enforces.
CallStyle = Literal["native", "text", "constrained"]
# "auto" is the provider's way, and lines of text once the provider said that this model has none.
ToolCalls = Literal["auto", "native", "text", "constrained"]


class Known(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """What is known of a model that nobody had to type; None is not known."""

    context_window: int | None = None
    # The longest answer, its thinking included, in tokens.
    max_output: int | None = None
    images: bool | None = None
    thinking: bool | None = None
    tools: bool | None = None
    prices: Prices | None = None
    # Who says so, and when: "litellm of 2026-11-10", "127.0.0.1:8080 on 2026-11-16".
    source: str = ""


class ModelConfig(msgspec.Struct, frozen=True, rename="camel", kw_only=True, omit_defaults=True):
    """One entry of `models.json`; `id` is its key there and is not repeated inside."""

    name: str
    provider: Provider
    # Whose it is, by the table of providers; found by the address when it is not said.
    service: str = ""
    model: str = ""
    base_url: str = ""
    # "env:NAME", "secret:NAME", "aws", "google", "copilot", or the key itself (accepted, flagged); empty for none.
    api_key_source: str = ""
    # As a person said; 0 and None are filled in with what is known when the model is used.
    context_window: int = 0
    supports_thinking: bool | None = None
    supports_images: bool | None = None
    max_tokens: int | None = None
    # What the model's own server told about it when it was added; where the model is used, all that is known of it.
    known: Known | None = None
    tool_calls: ToolCalls = "auto"
    # The provider's own tools, unless a conversation or a message says otherwise.
    native_tools: NativeTools = NativeTools()
    # Sent with every request, for gateways that want more than a key.
    headers: dict[str, str] = {}
    # Merged into every request body, for what a provider has and we do not name.
    extra: JsonObject = {}
    # What its tokens cost, as a person said: it counts, and not what is known.
    prices: Prices | None = None
    id: str = ""

    @property
    def costs(self) -> Prices | None:
        """Return what its tokens cost; None where nobody knows."""
        return self.prices or (self.known.prices if self.known is not None else None)

    def used(self, usage: Usage | None) -> Used | None:
        """Return what a request used and cost, as far as it counts and a price is known."""
        if usage is None:
            return None
        cost = self.costs.cost(usage) if self.costs is not None else 0.0
        counted = TokenUsage(**msgspec.structs.asdict(usage))
        # The table has a price of nothing also where it knows none; a person who says so means it.
        is_known = cost > 0 or self.prices is not None
        return Used(self.id, counted, round(cost, 9) if is_known else None)


class KeyState(Frozen, frozen=True):
    """Where a model's key comes from and whether it can be used, never the key itself."""

    kind: KeyKind
    name: str = ""
    present: bool = False
    # One sentence when something is wrong or unwise: unset, literal, bound to another origin.
    problem: str = ""
    # The key was given for another origin; the person may confirm the new one.
    moved: bool = False


class LearnedView(Frozen, frozen=True):
    """What a model's provider was found not to take, in one plain line, and when that was."""

    text: str
    at: float


class SaidFacts(Frozen, frozen=True):
    """What a person said of a model themselves; None was not said."""

    context_window: int | None = None
    supports_thinking: bool | None = None
    supports_images: bool | None = None
    prices: Prices | None = None


class ModelView(Frozen, frozen=True):
    """A model as the page and the command line show it; a literal key is never in it."""

    id: str
    name: str
    provider: Provider
    model: str
    base_url: str
    host: str
    # "env:NAME", "secret:…", "literal" or "".
    api_key_source: str
    key: KeyState
    context_window: int
    supports_thinking: bool
    supports_images: bool
    max_tokens: int | None
    is_default: bool
    tool_calls: ToolCalls = "auto"
    native_tools: NativeTools = NativeTools()
    # What this model is good for, where that needs saying (the embedded one).
    note: str = ""
    # "128K context".
    context_label: str = ""
    # "$3 in, $15 out per 1M tokens"; empty where the prices are not known.
    price_label: str = ""
    # Whose it is, by the table of providers; empty for an address of the person's own.
    service: str = ""
    # What was learned about it from refusals; it can be forgotten.
    learned: tuple[LearnedView, ...] = ()
    # What of this a person said; the rest is filled in, and may change when more is known.
    said: SaidFacts = SaidFacts()
    # Where what is filled in comes from: "litellm of 2026-11-10"; empty when a person said everything.
    facts_from: str = ""


class ProviderView(Frozen, frozen=True, kw_only=True):
    """A provider as a person chooses it; how it is spoken to stays with who does."""

    id: str
    name: str
    wire: Provider
    # With "{…}" where each person has a part of their own; empty for what has no usual address.
    base_url: str = ""
    # Where people keep its key; what is found there is offered.
    variables: tuple[str, ...] = ()
    # Where its key may stand, too: not offered, and kept from other providers all the same.
    guarded: tuple[str, ...] = ()
    # Where a person gets a key.
    keys_at: str = ""
    # Who proves with each request who asks, with what this machine has for it; empty for nobody beside the key.
    signs: Signing = ""
    # A model to begin with.
    model: str = ""
    # Whether it is a server that people run themselves, and is looked for at this port.
    local: bool = False
    # Whether it runs in this process: it has no address and no key.
    inside: bool = False
    # One sentence for the person who chooses it.
    note: str = ""


class FileProblem(Frozen, frozen=True):
    """A file that could not be read: where and why; the last good content stays in force."""

    file: str
    line: int | None
    message: str


class ModelList(Frozen, frozen=True):
    """All models, the default, and what is wrong with the file if anything is."""

    default_model_id: str | None
    models: tuple[ModelView, ...]
    problem: FileProblem | None = None


class ModelTest(Frozen, frozen=True):
    """What a real, tiny request to a model gave."""

    ok: bool
    # One sentence: the latency, or the provider's own error.
    message: str
    first_token_ms: int | None = None
    total_ms: int | None = None


class FoundModel(Frozen, frozen=True):
    """Something that could be added with one click: a local server or a key in the environment."""

    # "Ollama on this machine", "Anthropic: key found in ANTHROPIC_API_KEY".
    title: str
    why: str
    draft: ModelConfig
    # Models that the found server offers, when it could be asked.
    choices: tuple[str, ...] = ()
