"""Topics and prompts in the library."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pilothouse import Host
from pilothouse.library import ChosenPrompts
from pilothouse.types.errors import PilothouseError


@pytest.mark.case("CHT-15", "CHT-16")
async def test_a_program_uses_topics_and_prompts(home: Path, tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"turns": ["Aye."]}))
    async with Host(home) as host:
        garden = await host.topics.create("Garden", "What grows.")
        await host.prompts.put("pirate", "You are {{name}}.", title="Pirate")
        assert await host.prompts.filled("pirate", name="Anne") == "You are Anne."
        chosen = ChosenPrompts(prompt="pirate", values={"name": "Anne"}, mini=["concise"])
        chat = await host.start(model=f"scripted:{script}", topic="garden", prompts=chosen)
        assert await (await chat.send("Who are you?")).text() == "Aye."
        settings = (await chat.info()).settings
        assert (settings.topic_id, settings.system_prompt) == (garden.id, "You are Anne.")
        assert settings.mini_prompts == ("concise",)
        assert [each.id async for each in host.topics.conversations("Garden")] == [chat.id]
        assert (await host.topics.change("garden", name="Yard")).name == "Yard"
        gone = await host.topics.remove("Yard")
        assert list(await host.topics.list()) == []
        with pytest.raises(PilothouseError, match="There is no topic “Yard”"):
            await host.topics.get("Yard")
        assert (await host.topics.restore(gone.id)).conversations == 1
        assert "concise" in {each.name for each in await host.mini_prompts.list()}
        await host.prompts.remove("pirate")
        assert "pirate" not in {each.name for each in await host.prompts.list()}
