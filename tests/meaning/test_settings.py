"""What a person sets about finding by meaning: kept, shown, and refused where it cannot be."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from pilothouse.settings.config import ConfigService
from pilothouse.types.api import ConfigPatch
from pilothouse.types.embeddings import Embeddings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.json import JsonObject
from tests.support.commands import pilothouse


def patch(**embeddings: str | None) -> ConfigPatch:
    raw: JsonObject = {"embeddings": embeddings}
    return msgspec.convert(raw, ConfigPatch)


async def test_an_endpoint_is_kept_and_nulls_give_the_built_in_model_again(tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    config = ConfigService(tmp_path, "sqlite")
    assert config.view().embeddings == Embeddings()
    view = await config.patch(patch(source="endpoint", url="http://localhost:11434", model="nomic-embed-text"))
    assert view.embeddings == Embeddings(source="endpoint", url="http://localhost:11434", model="nomic-embed-text")
    assert (await config.patch(patch(source="off"))).embeddings.url == "http://localhost:11434"
    assert (await config.patch(patch(source=None, url=None, model=None))).embeddings == Embeddings()


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"source": "endpoint"}, "Name the embedding model"),
        ({"source": "endpoint", "url": "http://8.8.8.8", "model": "m"}, "without encryption"),
        ({"source": "endpoint", "url": "https://a:b@x.example", "model": "m"}, "a name or a password in it"),
    ],
)
async def test_an_endpoint_that_cannot_be_used_is_refused_and_nothing_changes(
    tmp_path: Path, wrong: dict[str, str], said: str
) -> None:
    (tmp_path / "cache").mkdir()
    config = ConfigService(tmp_path, "sqlite")
    with pytest.raises(PilothouseError, match=said):
        await config.patch(patch(**wrong))
    assert config.view().embeddings == Embeddings()


@pytest.mark.slow
def test_it_is_set_and_looked_at_on_the_command_line(home: Path) -> None:
    refused = pilothouse(home, "settings", "embeddings.source", "endpoint")
    assert refused.code != 0
    assert "Name the embedding model" in refused.err
    assert pilothouse(home, "settings", "embeddings.url", "http://127.0.0.1:9").code == 0
    assert pilothouse(home, "settings", "embeddings.model", "embed-1").code == 0
    assert pilothouse(home, "settings", "embeddings.source", "endpoint").code == 0
    shown = pilothouse(home, "settings", "embeddings.source").out
    assert "endpoint" in shown
    assert "Texts are found by meaning (embed-1 at 127.0.0.1:9): 0 done" in pilothouse(home, "doctor").out
