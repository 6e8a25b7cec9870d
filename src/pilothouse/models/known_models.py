"""What is known of models before anyone asks them: windows, longest answers, abilities, prices.

It stands in `known_models.tsv`, one line for each model, which `scripts/known` makes from a package that is kept up.
A line is found in the bytes as they are: nothing is taken apart but the one line that is asked for.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from functools import cache, lru_cache
from itertools import takewhile
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from pilothouse.types.models import Known, Provider
from pilothouse.types.origins import is_nearby, origin_of
from pilothouse.types.prices import Prices

_DATA = Path(__file__).with_name("known_models.tsv")

# Whose models are at an address, by the end of its host's name.
_HOSTS = (
    ("api.anthropic.com", "anthropic"),
    ("api.openai.com", "openai"),
    ("generativelanguage.googleapis.com", "gemini"),
    ("api.deepseek.com", "deepseek"),
    ("api.mistral.ai", "mistral"),
    ("api.groq.com", "groq"),
    ("api.x.ai", "xai"),
    ("api.together.xyz", "together"),
    ("api.together.ai", "together"),
    ("api.fireworks.ai", "fireworks"),
    ("openai.azure.com", "azure"),
    ("services.ai.azure.com", "azure"),
    ("cognitiveservices.azure.com", "azure"),
    ("githubcopilot.com", "copilot"),
    ("api.cerebras.ai", "cerebras"),
    ("api.cohere.com", "cohere"),
    ("api.cohere.ai", "cohere"),
    ("dashscope.aliyuncs.com", "dashscope"),
    ("dashscope-intl.aliyuncs.com", "dashscope"),
    ("api.deepinfra.com", "deepinfra"),
    ("api.minimax.io", "minimax"),
    ("api.moonshot.ai", "moonshot"),
    ("api.moonshot.cn", "moonshot"),
    ("nebius.com", "nebius"),
    ("api.novita.ai", "novita"),
    ("api.perplexity.ai", "perplexity"),
    ("api.sambanova.ai", "sambanova"),
    ("api.z.ai", "zai"),
)
# Whose models are at a host that has a region in the middle of its name; anyone can have another name at Amazon's.
_REGIONAL = (
    (r"([a-z0-9-]+-)?aiplatform(\.[a-z0-9-]+\.rep)?\.googleapis\.com", "vertex"),
    (r"([a-z0-9-]+\.)?bedrock-[a-z-]+\.[a-z0-9-]+(\.vpce)?\.(amazonaws\.com(\.cn)?|api\.aws)", "bedrock"),
)
# Whose names mean the same wherever they are served from; what runs on one's own machine is never one of these.
_CLOSED = ("anthropic", "openai", "gemini", "xai")
_MAKERS = (*_CLOSED, "deepseek", "mistral", "moonshot", "zai", "minimax")
# First words of names that only one maker gives, so that a newer one is much like those before it.
_FAMILIES = {"claude": "anthropic", "gemini": "gemini"}

# Compiled when the first model is looked up. Some write dots, some dashes.
_SEPARATORS = r"[.:@_ ]"
# What stands before and behind a name without making it another model: a region, a path, a date, a release.
_BEFORE = r"^(models/|(us-gov|us|eu|apac|au|jp|ca|global)-(?=[a-z]+-))"
_BEHIND = r"-(20\d{6}|20\d\d-\d\d-\d\d|\d{4}|latest|preview|free|nitro|floor|online|exacto|extended|v\d+(-\d+)?)$"


def known(provider: Provider, base_url: str, model: str) -> Known | None:
    """Return what is known of a model at an address; None where that is nothing, and for what runs in this process."""
    model = model.strip()
    if provider in ("embedded", "scripted", "plugin", "ollama") or not model or not model.isprintable():
        return None
    host, is_near = urlsplit(origin_of(base_url)).hostname or "", is_nearby(base_url)
    if model.startswith("arn:"):
        # An inference profile of Amazon's is named by its model, behind the account.
        model = model.rpartition("/")[2]
    if model.startswith("ft:"):
        # What someone tuned, "ft:gpt-4.1:whose::which", is as large as it was before, and costs more.
        found = _known(host, is_near, model.split(":")[1])
        return found and msgspec.structs.replace(found, prices=None)
    return _known(host, is_near, model)


@lru_cache(maxsize=1024)
def _known(host: str, is_near: bool, model: str) -> Known | None:
    name = re.sub(_BEFORE, "", re.sub(_SEPARATORS, "-", model.lower()))
    table = _table(host)
    if table is not None and (found := _of(table, name)):
        return found
    # On Bedrock, and behind gateways to it, Claude has its maker's name before its own.
    found = _of_makers(name.rpartition("/")[2].removeprefix("anthropic-"), _CLOSED if is_near else _MAKERS)
    if found is None:
        return _relatives(table, name) if table else None
    # Whoever serves the models of others has prices of their own.
    return msgspec.structs.replace(found, prices=None)


def _table(host: str) -> str | None:
    """Return whose models are at a host."""
    if found := next((table for end, table in _HOSTS if f".{host}".endswith(f".{end}")), None):
        return found
    return next((table for pattern, table in _REGIONAL if re.fullmatch(pattern, host)), None)


def _of_makers(name: str, makers: tuple[str, ...]) -> Known | None:
    """Return a model by the name that its maker gave it, whoever serves it."""
    if found := next((found for maker in makers if (found := _of(maker, name))), None):
        return found
    family = _FAMILIES.get(name.partition("-")[0])
    return _relatives(family, name) if family else None


def _of(table: str, name: str) -> Known | None:
    """Return a model of a provider, by its name or by what is left of it without a date or a release."""
    while name:
        if (columns := _columns(f"{table}/{name}")) is not None:
            return _read(columns)
        shorter = re.sub(_BEHIND, "", name)
        if shorter == name:
            return None
        name = shorter
    return None


def _relatives(table: str, name: str) -> Known | None:
    """Return what most of a provider's models have in common whose names begin as this one does; no prices."""
    words = name.split("-")
    alike: dict[int, list[Known]] = {}
    for line in _lines(table):
        key, *columns = line.split("\t")
        same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(words, key.split("-"), strict=False)))
        alike.setdefault(same, []).append(_read(columns))
    nearest = max(alike, default=0)
    if nearest == 0:
        return None
    near = alike[nearest]
    return Known(
        context_window=_cautious([one.context_window for one in near]),
        # A limit that is too high is refused; one word in common says too little about it.
        max_output=_cautious([one.max_output for one in near]) if nearest > 1 else None,
        images=_usual([one.images for one in near]),
        thinking=_usual([one.thinking for one in near]),
        tools=_usual([one.tools for one in near]),
        source=f"models like it in {source()}",
    )


def _usual(values: list[bool | None]) -> bool | None:
    return Counter(values).most_common(1)[0][0]


def _cautious(values: list[int | None]) -> int | None:
    """Return a size that three of four have at least."""
    sizes = sorted(size for size in values if size is not None)
    return sizes[len(sizes) // 4] if sizes else None


def source() -> str:
    """Return the package that all of this is from, and the day it was read: "litellm 1.108.4 of 2026-11-16"."""
    package, day, _licence = _data()[1 : _data().index(b"\n", 1)].decode().split("\t")
    return f"{package} of {day}"


@cache
def _data() -> bytes:
    return b"\n" + _DATA.read_bytes()


def _columns(key: str) -> list[str] | None:
    """Return what stands in a model's line behind its name."""
    data, begin = _data(), f"\n{key}\t".encode()
    at = data.find(begin)
    if at < 0:
        return None
    at += len(begin)
    return data[at : data.index(b"\n", at)].decode().split("\t")


def _lines(table: str) -> Iterator[str]:
    """Yield the lines of a provider's models, without its name."""
    start = f"{table}/"
    lines = _data().decode().splitlines()
    return (line.removeprefix(start) for line in lines if line.startswith(start))


def _read(columns: list[str]) -> Known:
    cells = [*columns, *[""] * (12 - len(columns))]
    flags = cells[2]
    prices = _prices(cells[3:7])
    if prices is not None and cells[7] and (beyond := _prices(cells[8:12])) is not None:
        prices = msgspec.structs.replace(prices, above=int(cells[7]), beyond=beyond)
    return Known(
        context_window=int(cells[0]) if cells[0] else None,
        max_output=int(cells[1]) if cells[1] else None,
        # The package says only what a model can do.
        images="i" in flags or None,
        thinking="r" in flags or None,
        tools="t" in flags or None,
        prices=prices,
        source=source(),
    )


def _prices(cells: list[str]) -> Prices | None:
    if not (cells[0] and cells[1]):
        return None
    read, write = (float(cell) if cell else None for cell in cells[2:4])
    return Prices(input=float(cells[0]), output=float(cells[1]), cache_read=read, cache_write=write)
