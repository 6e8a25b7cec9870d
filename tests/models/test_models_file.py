"""`models.json`: its shape, its first content, and mistakes in it."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from pilothouse.models.models_file import slug
from pilothouse.models.wire_table import adapter_of, media_of
from pilothouse.types.models import PROVIDERS, ModelConfig
from tests.models.catalogue import open_catalogue

DEEPSEEK = {
    "name": "DeepSeek Reasoner",
    "provider": "anthropic-compatible",
    "baseUrl": "https://api.deepseek.com/anthropic",
    "apiKeySource": "env:DeepseekKey",
    "model": "deepseek-reasoner",
    "contextWindow": 128000,
    "supportsThinking": True,
}


def write(home: Path, content: object, name: str = "models.json") -> None:
    home.mkdir(parents=True, exist_ok=True)
    (home / name).write_text(content if isinstance(content, str) else json.dumps(content, indent=2))


@pytest.mark.case("MOD-06", "MOD-07", "MOD-08")
async def test_the_file_has_the_agreed_shape_and_all_fields(home: Path) -> None:
    write(home, {"defaultModelId": "deepseek", "models": {"deepseek": DEEPSEEK}})
    config = await open_catalogue(home, {}).models.default()
    assert config == ModelConfig(
        id="deepseek",
        name="DeepSeek Reasoner",
        provider="anthropic-compatible",
        base_url="https://api.deepseek.com/anthropic",
        api_key_source="env:DeepseekKey",
        model="deepseek-reasoner",
        context_window=128_000,
        supports_thinking=True,
    )


@pytest.mark.case("MOD-10")
@pytest.mark.parametrize("content", [None, "", "{}", '{"defaultModelId": null, "models": {}}'])
async def test_a_first_start_without_legacy_settings_has_the_built_in_model(home: Path, content: str | None) -> None:
    if content is not None:
        write(home, content)
    models = await open_catalogue(home, {}).models.list()
    assert models.default_model_id == "embedded"
    (model,) = models.models
    assert (model.name, model.provider, model.context_window) == ("SmolLM2 135M (built in)", "embedded", 8192)
    assert "too small" in model.note
    assert model.host == "this machine"


@pytest.mark.case("MOD-10")
@pytest.mark.parametrize("content", [None, "", "{}"])
@pytest.mark.parametrize("elsewhere", [False, True])
async def test_legacy_settings_become_the_default_model(
    home: Path, tmp_path: Path, content: str | None, elsewhere: bool
) -> None:
    if content is not None:
        write(home, content)
    legacy = {"BaseUrl": "https://api.deepseek.com/anthropic", "ApiKey": "sk-legacy-key", "Model": "deepseek-chat"}
    folder = tmp_path if elsewhere else home
    write(folder, {"Logging": {}, "Anthropic": legacy | {"ContextWindowTokens": 64000}}, "appsettings.json")
    environ = {"PILOTHOUSE_LEGACY_SETTINGS": str(folder / "appsettings.json")} if elsewhere else {}
    parts = open_catalogue(home, environ)
    config = await parts.models.default()
    assert config is not None
    assert config.provider == "anthropic-compatible"
    assert (config.base_url, config.model) == ("https://api.deepseek.com/anthropic", "deepseek-chat")
    assert config.context_window == 64_000
    assert parts.models.key_for(config) == "sk-legacy-key"
    assert "sk-legacy-key" not in (home / "models.json").read_text()


@pytest.mark.case("MOD-09", "MOD-10")
async def test_after_the_first_start_the_legacy_settings_are_never_read_or_written_again(home: Path) -> None:
    legacy = json.dumps({"Anthropic": {"BaseUrl": "https://a.example", "Model": "first", "ApiKey": "env:A"}})
    write(home, legacy, "appsettings.json")
    await open_catalogue(home, {}).models.default()
    (home / "appsettings.json").write_text(legacy.replace("first", "second"))
    models = open_catalogue(home, {}).models
    await models.set_default("embedded")
    assert [config.model for config in await models.configs()] == ["", "first"]
    assert "second" in (home / "appsettings.json").read_text()


@pytest.mark.parametrize(
    "content", ["{ broken", '{"Anthropic": {}}', '{"Anthropic": {"Model": "m", "BaseUrl": "nonsense"}}', "[]"]
)
async def test_legacy_settings_that_make_no_sense_do_not_stop_the_start(home: Path, content: str) -> None:
    write(home, content, "appsettings.json")
    assert (await open_catalogue(home, {}).models.list()).default_model_id == "embedded"


@pytest.mark.case("F-55", "MOD-08")
@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("contextWindow", "many", "“contextWindow” must be a whole number, not text."),
        ("contextWindow", 0, "at least 1"),
        ("provider", "skynet", "The provider “skynet” is not known"),
        ("provider", "groq", "write it as “service”, and as “provider” its wire, openai-compatible"),
        ("baseUrl", "api.example.com", "is not a web address"),
        ("model", "", "which of the provider's models"),
        ("supportsThinking", "yes", "must be true or false"),
        ("name", " ", "needs a name"),
    ],
)
async def test_a_mistake_in_an_entry_is_reported_on_its_line_and_the_last_good_models_stay(
    home: Path, field: str, value: object, words: str
) -> None:
    good = {"defaultModelId": "a", "models": {"a": DEEPSEEK, "b": DEEPSEEK}}
    write(home, good)
    models = open_catalogue(home, {}).models
    before = (await models.list()).models
    write(home, good | {"models": {"a": DEEPSEEK, "b": DEEPSEEK | {field: value}}})
    after = await models.list()
    assert after.models == before
    assert after.problem is not None
    assert words in after.problem.message
    lines = (home / "models.json").read_text().splitlines()
    assert after.problem.line is not None
    assert f'"{field}"' in lines[after.problem.line - 1]
    assert after.problem.line > len(lines) / 2
    # A restart beside the broken file keeps them too.
    assert (await open_catalogue(home, {}).models.list()).models == before


@pytest.mark.case("F-55")
async def test_a_missing_field_an_odd_id_and_an_unknown_default_are_reported(home: Path) -> None:
    write(home, {"defaultModelId": "a", "models": {"a": DEEPSEEK}})
    models = open_catalogue(home, {}).models
    for content, words in (
        ({"models": {"a": {"name": "A", "model": "m"}}}, "“provider” is missing in “a”"),
        ({"models": {"../a": DEEPSEEK}}, "cannot be a model's id"),
        ({"defaultModelId": "z", "models": {"a": DEEPSEEK}}, "“z” is not among the models"),
        ({"models": []}, "“models” must be an object in braces"),
        ({"models": {"a": "b"}}, "must be an object in braces"),
    ):
        write(home, content)
        problem = (await models.list()).problem
        assert problem is not None
        assert words in problem.message
        assert problem.line is not None


@pytest.mark.case("F-55")
async def test_a_file_that_was_never_good_still_lets_the_app_start_with_the_built_in_model(home: Path) -> None:
    write(home, "{ nothing good")
    models = await open_catalogue(home, {}).models.list()
    assert models.default_model_id == "embedded"
    assert models.problem is not None
    assert (home / "models.json").read_text() == "{ nothing good"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Claude 3.5 Sonnet", "claude-3-5-sonnet"),
        ("  ", "model"),
        ("Größe", "gr-e"),
        ("x" * 99, "x" * 48),
        ("Taken", "taken-3"),
    ],
)
def test_an_id_is_made_from_the_name(name: str, expected: str) -> None:
    assert slug(name, ("taken", "taken-2")) == expected


@pytest.mark.case("MOD-25")
async def test_the_example_in_the_guide_is_a_good_file(home: Path) -> None:
    guide = Path(__file__).parents[2].joinpath("docs/guide/models.md").read_text(encoding="utf-8")
    write(home, guide.partition("```json\n")[2].partition("```")[0])
    models = await open_catalogue(home, {"DeepseekKey": "sk-deep", "ANTHROPIC_API_KEY": "sk-ant"}).models.list()
    assert models.problem is None
    assert models.default_model_id == "deepseek-reasoner"
    deepseek, claude = models.models
    assert (deepseek.model, deepseek.context_label, deepseek.supports_thinking) == (
        "deepseek-reasoner",
        "128K context",
        True,
    )
    assert (claude.model, claude.context_label, claude.supports_thinking) == (
        "claude-3-5-sonnet-20241022",
        "200K context",
        False,
    )
    assert all(model.key.present and not model.key.problem for model in models.models)


@pytest.mark.case("MOD-07", "MOD-25")
def test_the_guide_names_every_provider_and_every_field() -> None:
    guide = Path(__file__).parents[2].joinpath("docs/guide/models.md").read_text(encoding="utf-8")
    assert [provider for provider in PROVIDERS if f"| `{provider}` |" not in guide] == []
    fields = {field.encode_name for field in msgspec.structs.fields(ModelConfig)} - {"id"}
    assert [field for field in fields if f"`{field}`" not in guide] == []


def test_every_wire_that_http_reaches_has_an_adapter_of_its_name() -> None:
    without = [provider for provider in PROVIDERS if adapter_of(provider) is None]
    assert without == ["embedded", "scripted", "plugin"]
    assert all(media_of(provider).image_bytes for provider in PROVIDERS)
