"""Windows, abilities and prices are known of most models, so that nobody has to type them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pilothouse.models import known_models as known_module
from pilothouse.models.facts import filled
from pilothouse.models.known_models import known, source
from pilothouse.models.provider_table import rows
from pilothouse.types import limits
from pilothouse.types.models import Known, ModelConfig, Provider
from pilothouse.types.prices import Prices
from pilothouse.types.stream import Usage
from tests.models.catalogue import open_catalogue

ANTHROPIC = "https://api.anthropic.com"
OPENAI = "https://api.openai.com/v1"
PROXY = "https://gateway.example.com/v1"
HERE = "http://127.0.0.1:8080/v1"


def table() -> list[str]:
    path = Path(known_module.__file__).with_name("known_models.tsv")
    return path.read_text("utf-8").splitlines()


def test_the_table_says_what_it_was_made_from_when_and_under_which_licence() -> None:
    package, day, licence = table()[0].split("\t")
    assert re.fullmatch(r"litellm [\d.]+", package)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", day)
    assert licence == "MIT"
    assert source() == f"{package} of {day}"
    pinned = Path(__file__).parents[2].joinpath("requirements/known.txt").read_text("utf-8")
    assert pinned.startswith(package.replace(" ", "==") + " "), "The pin is another one; run scripts/known."


def test_every_line_of_the_table_can_be_read_and_found_at_an_address() -> None:
    lines = table()[1:]
    assert len(lines) > 1000
    assert lines == sorted(set(lines))
    reachable = {name for _host, name in (*known_module._HOSTS, *known_module._REGIONAL)}
    for line in lines:
        key, *columns = line.split("\t")
        assert re.fullmatch(r"[a-z]+/[a-z0-9/-]+", key), key
        assert key.partition("/")[0] in reachable
        facts = known_module._read(columns)
        assert facts.context_window is None or facts.context_window > 0
        assert facts.max_output is None or facts.context_window is None or facts.max_output < facts.context_window
        assert facts.prices is None or min(facts.prices.input, facts.prices.output) >= 0


@pytest.mark.parametrize(
    ("provider", "url", "model", "window", "longest"),
    [
        ("anthropic-compatible", ANTHROPIC, "claude-sonnet-4-5", 200_000, 64_000),
        ("anthropic-compatible", ANTHROPIC, "claude-sonnet-4-5-20250929", 200_000, 64_000),
        ("openai-responses", OPENAI, "gpt-5", 272_000, 128_000),
        ("openai-compatible", OPENAI, "GPT-4.1", 1_047_576, 32_768),
        ("gemini", "https://generativelanguage.googleapis.com", "models/gemini-2.5-flash", 1_048_576, 65_536),
        ("anthropic-compatible", "https://api.deepseek.com/anthropic", "deepseek-reasoner", 131_072, 65_536),
        (
            "openai-compatible",
            "https://bedrock-runtime.us-east-1.amazonaws.com/openai/v1",
            "us.anthropic.claude-sonnet-4-5-20250929-v1:0",
            200_000,
            64_000,
        ),
        ("openai-compatible", "https://mine.openai.azure.com/openai/v1", "gpt-5-mini", 272_000, 128_000),
        ("openai-compatible", "https://api.groq.com/openai/v1", "openai/gpt-oss-120b", 131_072, 65_536),
    ],
)
def test_a_model_at_its_providers_address_is_known_with_its_prices(
    provider: Provider, url: str, model: str, window: int, longest: int
) -> None:
    facts = known(provider, url, model)
    assert facts is not None
    assert (facts.context_window, facts.max_output) == (window, longest)
    assert facts.prices is not None
    assert facts.source == source()


VERTEX, EAST = "aiplatform.googleapis.com", "us-east-1.amazonaws.com"
PROFILE = "arn:aws:bedrock:us-east-1:123456789012:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"


@pytest.mark.parametrize(
    ("provider", "host", "model"),
    [
        ("gemini", VERTEX, "gemini-2.5-pro"),
        ("gemini", f"europe-west4-{VERTEX}", "gemini-2.5-pro"),
        ("anthropic-compatible", "aiplatform.eu.rep.googleapis.com", "claude-sonnet-4-5@20250929"),
        ("anthropic-compatible", f"bedrock-runtime.{EAST}", PROFILE),
        ("anthropic-compatible", f"bedrock-runtime-fips.{EAST}", "anthropic.claude-sonnet-4-5-20250929-v1:0"),
        ("bedrock-converse", "vpce-1-a.bedrock-runtime.us-east-1.vpce.amazonaws.com", "us.amazon.nova-pro-v1:0"),
        ("bedrock-converse", "bedrock-runtime.us-gov-west-1.amazonaws.com", "us-gov.amazon.nova-pro-v1:0"),
    ],
)
def test_a_model_of_a_cloud_is_known_in_every_region(provider: Provider, host: str, model: str) -> None:
    facts = known(provider, f"https://{host}/v1", model)
    assert facts is not None
    assert facts.prices is not None
    assert facts.source == source()


def test_what_anyone_may_serve_at_a_host_of_amazons_is_none_of_bedrocks_models() -> None:
    assert known("openai-compatible", f"https://ec2-3-1-1-1.{EAST}/v1", "meta-llama/Llama-3.1-8B-Instruct") is None


def test_a_tuned_model_is_as_large_as_before_and_has_no_price() -> None:
    facts = known("openai-compatible", OPENAI, "ft:gpt-4o-2024-08-06:acme::abc123")
    assert facts is not None
    assert (facts.context_window, facts.max_output, facts.prices) == (128_000, 16_384, None)


@pytest.mark.parametrize(
    "model", ["claude-sonnet-4-5\t200000", "claude\nsonnet", "\ud800", "\x00", "arn:", "ft:", "-", "/"]
)
def test_a_name_that_no_model_has_is_not_known(model: str) -> None:
    assert known("anthropic-compatible", ANTHROPIC, model) is None


def test_a_size_that_is_none_does_not_hide_what_is_known() -> None:
    told = Known(context_window=-1, max_output=0, images=False)
    config = ModelConfig(name="M", provider="anthropic-compatible", model="claude-sonnet-4-5", known=told)
    facts = filled(config).known
    assert facts is not None
    assert (facts.context_window, facts.max_output, facts.images) == (200_000, 64_000, False)


def test_a_model_to_begin_with_is_known_by_its_very_name() -> None:
    named = (row for row in rows().values() if row.model and row.base_url and not row.local and row.id != "openrouter")
    for row in named:
        address = row.base_url.replace("{region}", "us-east-1").replace("{project}", "p")
        facts = known(row.wire, address, row.model)
        assert facts is not None, row.id
        assert facts.source == source(), row.id


def test_what_a_model_can_do_is_known() -> None:
    claude = known("anthropic-compatible", ANTHROPIC, "claude-sonnet-4-5")
    assert claude is not None
    assert (claude.images, claude.thinking, claude.tools) == (True, True, True)
    turbo = known("openai-compatible", OPENAI, "gpt-3.5-turbo")
    assert turbo is not None
    assert (turbo.images, turbo.thinking, turbo.tools) == (None, None, True)


def test_a_model_behind_someone_elses_address_is_known_without_a_price() -> None:
    names = ("anthropic/claude-sonnet-4.5", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", PROFILE)
    for url, name in product((PROXY, HERE), names):
        facts = known("openai-compatible", url, name)
        assert facts is not None
        assert (facts.context_window, facts.images, facts.prices) == (200_000, True, None)


def test_a_newer_model_is_taken_for_one_like_its_relatives_and_has_no_price() -> None:
    facts = known("anthropic-compatible", ANTHROPIC, "claude-sonnet-4-99")
    assert facts is not None
    assert (facts.context_window, facts.max_output, facts.images, facts.prices) == (200_000, 64_000, True, None)
    assert facts.source == f"models like it in {source()}"
    # One word in common says little about how long an answer may be.
    stranger = known("anthropic-compatible", ANTHROPIC, "claude-2")
    assert stranger is not None
    assert stranger.max_output is None


@pytest.mark.parametrize(
    ("provider", "url", "model"),
    [
        ("openai-compatible", HERE, "gpt-oss-20b"),
        ("openai-compatible", HERE, "mistral-small-latest"),
        ("openai-compatible", "http://192.168.1.5:1234/v1", "deepseek-chat"),
        ("openai-compatible", "http://nas.local:1234/v1", "kimi-k2.5"),
        ("ollama", "http://127.0.0.1:11434", "claude-sonnet-4-5"),
        ("openai-compatible", PROXY, "someone's own"),
        ("scripted", "", "claude-sonnet-4-5"),
        ("openai-compatible", "no address", ""),
    ],
)
def test_an_open_model_on_ones_own_machine_and_a_stranger_are_not_known(
    provider: Provider, url: str, model: str
) -> None:
    assert known(provider, url, model) is None


def test_the_table_is_not_read_before_something_is_asked() -> None:
    program = (
        "import pilothouse, pilothouse.models.catalogue, pilothouse.models.known_models as known\n"
        "assert known._data.cache_info().currsize == 0"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_cached_tokens_cost_their_own_price_and_long_requests_theirs() -> None:
    prices = Prices(input=3, output=15, cache_read=0.3, cache_write=3.75)
    usage = Usage(input=1_000_000, output=100_000, cache_read=600_000, cache_write=200_000)
    assert prices.cost(usage) == pytest.approx(0.2 * 3 + 0.6 * 0.3 + 0.2 * 3.75 + 0.1 * 15)
    assert Prices(input=2, output=10).cost(usage) == pytest.approx(3)
    long = Prices(input=1, output=10, above=200_000, beyond=Prices(input=2, output=20))
    assert long.cost(Usage(input=200_000)) == pytest.approx(0.2)
    assert long.cost(Usage(input=200_001)) == pytest.approx(0.400002)


def config(**fields: Any) -> ModelConfig:
    start = {"provider": "anthropic-compatible", "model": "claude-sonnet-4-5"}
    return ModelConfig(**{"id": "m", "name": "M", **start, **fields})


def test_what_a_person_said_counts_and_the_rest_is_filled_in() -> None:
    plain = filled(config())
    assert (plain.context_window, plain.supports_thinking, plain.supports_images) == (200_000, True, True)
    said = filled(config(context_window=7, supports_thinking=False, supports_images=False))
    assert (said.context_window, said.supports_thinking, said.supports_images) == (7, False, False)
    unknown = filled(config(base_url=PROXY, model="m"))
    assert unknown.context_window == limits.DEFAULT_CONTEXT_WINDOW
    assert (unknown.supports_thinking, unknown.supports_images) == (False, False)


def write(home: Path, models: dict[str, Any]) -> None:
    home.mkdir(exist_ok=True)
    (home / "models.json").write_text(json.dumps({"defaultModelId": "c", "models": models}))


async def test_an_old_file_without_a_window_gets_it_and_says_where_from(home: Path) -> None:
    entry = {"name": "C", "provider": "anthropic-compatible", "baseUrl": "", "model": "claude-opus-4-5"}
    models = {"c": entry, "mine": {**entry, "contextWindow": 5000, "supportsThinking": True, "supportsImages": False}}
    write(home, models)
    filled_in, mine = (await open_catalogue(home, {}).models.list()).models
    assert (filled_in.context_label, filled_in.supports_thinking, filled_in.supports_images) == (
        "200K context",
        True,
        True,
    )
    assert filled_in.facts_from == source()
    assert filled_in.said.context_window is None
    assert (mine.context_window, mine.said.context_window, mine.said.supports_images) == (5000, 5000, False)
    assert mine.facts_from == ""
    # Nothing was written into the person's file for it.
    assert json.loads((home / "models.json").read_text())["models"] == models
