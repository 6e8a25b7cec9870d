"""Providers by name: whose an address is, where a key may go, and what is filled in."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse.models.discovery import find_models
from pilothouse.models.provider_table import belongs, blank_in, filled, row_of, rows, signs_at
from pilothouse.models.providers import address_of
from pilothouse.types.api import ModelInput
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import ModelConfig, Provider
from tests.models.catalogue import open_catalogue


def at(url: str, wire: Provider = "openai-compatible") -> str:
    row = row_of(ModelConfig(name="m", provider=wire, model="m", base_url=url))
    return row.id if row else ""


def test_an_address_tells_whose_it_is() -> None:
    assert at("https://api.groq.com/openai/v1") == "groq"
    assert at("https://me.openai.azure.com/openai/v1") == "azure-chat"
    assert at("https://me.openai.azure.com/openai/v1", "openai-responses") == "azure"
    assert at("https://bedrock-runtime.us-east-1.amazonaws.com", "anthropic-compatible") == "bedrock-claude"
    assert at("https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/x", "gemini") == "vertex"
    # Another wire at a known host still has its own header for keys.
    assert at("https://api.deepseek.com") == "deepseek"
    for stranger in ("https://api.groq.com.evil.example", "https://a.b.openai.azure.com", "http://127.0.0.1:8000/v1"):
        assert at(stranger) == "", stranger


@pytest.mark.case("SECRET-05")
def test_a_well_known_key_belongs_to_its_provider_alone() -> None:
    assert belongs("GROQ_API_KEY", "https://api.groq.com:443")
    assert belongs("AZURE_OPENAI_API_KEY", "https://me.openai.azure.com:443")
    assert belongs("AWS_BEARER_TOKEN_BEDROCK", "https://bedrock-runtime.eu-west-1.amazonaws.com:443")
    assert belongs("MY_OWN", "https://anywhere.example:443") is None
    for variable, origin in (
        ("GROQ_API_KEY", "http://api.groq.com:80"),
        ("GROQ_API_KEY", "https://api.groq.com:8443"),
        ("GROQ_API_KEY", "https://api.mistral.ai:443"),
        # A bucket or a balancer of a stranger has such a name too.
        ("AWS_BEARER_TOKEN_BEDROCK", "https://bedrock-runtime.evil.s3.amazonaws.com:443"),
        ("AZURE_OPENAI_API_KEY", "https://me.openai.azure.com.evil.example:443"),
    ):
        assert belongs(variable, origin) is False, origin
    assert signs_at("aws", "https://bedrock-runtime.us-east-1.amazonaws.com:443")
    assert not signs_at("aws", "https://aiplatform.googleapis.com:443")
    assert not signs_at("google", "https://api.openai.com:443")


def test_blanks_are_filled_from_the_environment_with_what_fits_there() -> None:
    address = rows()["bedrock-claude"].base_url
    assert filled(address, {"AWS_REGION": "eu-west-1"}) == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    assert blank_in(filled(address, {"AWS_REGION": "evil.example/x"})) == "region"
    assert blank_in(filled(address, {})) == "region"


async def test_a_model_is_added_by_its_providers_name(home: Path) -> None:
    models = open_catalogue(home, {}).models
    view = await models.add(ModelInput(name="G", provider="groq", model="openai/gpt-oss-120b", api_key_source=""))
    assert (view.provider, view.service, view.host) == ("openai-compatible", "groq", "api.groq.com")
    entry = json.loads((home / "models.json").read_text())["models"][view.id]
    assert (entry["service"], entry["baseUrl"]) == ("groq", "https://api.groq.com/openai/v1")
    plain = await models.add(ModelInput(name="P", provider="ollama", model="m"))
    assert (plain.service, plain.base_url) == ("", "http://127.0.0.1:11434")
    # As an address of one's own it is nobody's any more.
    moved = await models.update(
        view.id, ModelInput(name="G", provider="openai-compatible", model="m", base_url="http://127.0.0.1:9")
    )
    assert moved.service == ""


async def test_an_unknown_provider_and_a_blank_are_refused_with_what_to_do(home: Path) -> None:
    models = open_catalogue(home, {}).models
    with pytest.raises(PilothouseError) as refused:
        await models.add(ModelInput(name="X", provider="nobody", model="m"))
    assert "groq" in refused.value.fix
    with pytest.raises(PilothouseError, match="your own resource"):
        await models.add(ModelInput(name="A", provider="azure", model="m"))
    url = "https://{resource}.openai.azure.com/openai/v1"
    with pytest.raises(PilothouseError, match="your own resource"):
        await models.add(ModelInput(name="A", provider="azure", model="m", base_url=url))


@pytest.mark.case("SECRET-05")
async def test_what_signs_for_aws_signs_nowhere_else_without_a_persons_word(home: Path) -> None:
    def write(url: str) -> None:
        home.mkdir(exist_ok=True)
        entry = {"name": "B", "provider": "anthropic-compatible", "service": "bedrock-claude", "model": "m"}
        entry |= {"baseUrl": url, "apiKeySource": "aws"}
        (home / "models.json").write_text(json.dumps({"defaultModelId": "b", "models": {"b": entry}}))

    write("https://bedrock-runtime.us-east-1.amazonaws.com")
    models = open_catalogue(home, {}).models
    await models.open(None)
    (view,) = (await models.list()).models
    assert (view.api_key_source, view.key.kind, view.key.problem) == ("aws", "aws", "")
    write("https://gateway.example")
    with pytest.raises(PilothouseError, match="was given for https://bedrock-runtime"):
        await open_catalogue(home, {}).models.open(None)
    (view,) = (await models.confirm_key("b"),)
    assert not view.key.moved


async def test_keys_and_credentials_in_the_environment_are_offered_once_each() -> None:
    environ = {
        "AWS_BEARER_TOKEN_BEDROCK": "bedrock-key-0123",
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_REGION": "eu-west-1",
        "GROQ_API_KEY": "gsk-0123",
        "GITHUB_TOKEN": "ghp-0123",
        "GOOGLE_APPLICATION_CREDENTIALS": "/key.json",
        "GOOGLE_CLOUD_PROJECT": "proj",
    }
    found = await find_models((), environ=environ, servers=())
    assert [(each.draft.service, each.draft.api_key_source) for each in found] == [
        ("groq", "env:GROQ_API_KEY"),
        ("bedrock-claude", "env:AWS_BEARER_TOKEN_BEDROCK"),
        ("vertex", "google"),
    ]
    assert found[1].draft.base_url == "https://bedrock-runtime.eu-west-1.amazonaws.com"
    del environ["AWS_BEARER_TOKEN_BEDROCK"], environ["GOOGLE_CLOUD_PROJECT"]
    assert [each.title for each in await find_models((), environ=environ, servers=())] == [
        "Groq: key found in GROQ_API_KEY",
        "Amazon Bedrock (Claude): AWS credentials found",
    ]
    del environ["AWS_REGION"]
    assert len(await find_models((), environ=environ, servers=())) == 1


def test_a_service_named_in_the_file_gives_the_address() -> None:
    config = ModelConfig(name="m", provider="openai-compatible", service="mistral", model="m")
    assert address_of(config) == "https://api.mistral.ai/v1"
    assert address_of(ModelConfig(name="m", provider="openai-compatible", model="m")) == "https://api.openai.com/v1"
