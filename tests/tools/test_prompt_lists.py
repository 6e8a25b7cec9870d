"""The tools that list prompts: what there is and what is on, without asking anyone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.types.api import ConversationPatch
from tests.support.chats import ME, Chat, open_chat


async def called(chat: Chat, tool: str, **settings: Any) -> dict[str, Any]:
    """Have the model call a tool; return the call as the timeline has it."""
    now = (await chat.snapshot()).conversation.settings
    patch = ConversationPatch(settings=msgspec.structs.replace(now, **settings))
    await chat.api.conversations.update(ME, chat.id, patch)
    chat.write([[{"call": tool, "arguments": {}}], "I see."])
    assert (await chat.say()).status == "completed"
    *_, item = await chat.items("tool_call")
    assert item.status == "completed"
    assert not await chat.items("question")
    return {"text": item.text, **item.raw}


@pytest.mark.case("UTL-11")
@pytest.mark.parametrize("mode", ["ask", "read_only"])
async def test_the_prompts_are_listed_with_which_is_chosen(home: Path, mode: str) -> None:
    async with open_chat(home, settings={"mode": mode}) as chat:
        (home / "prompts").mkdir()
        (home / "prompts" / "pirate.md").write_text("---\ntitle: Pirate\ndescription: Speaks.\n---\nI am {{name}}.")
        (home / "prompts" / "broken.md").write_text("---\nno end")
        result = await called(chat, "list_system_prompts", prompt="pirate", prompt_values={"name": "Anne"})
        assert "pirate (Pirate, on): Speaks. Variables: name." in result["text"]
        assert "translator (Translator): Translates" in result["text"]
        assert "broken.md" in result["text"]
        # What they say is for whoever chooses them.
        assert "I am" not in result["text"]


@pytest.mark.case("UTL-12")
@pytest.mark.parametrize("mode", ["ask", "read_only"])
async def test_the_mini_prompts_are_listed_with_which_are_on(home: Path, mode: str) -> None:
    async with open_chat(home, settings={"mode": mode}) as chat:
        result = await called(chat, "list_mini_prompts", mini_prompts=("concise",))
        lines = result["text"].splitlines()
        assert "concise (Be concise, on): Short answers, the result first." in lines
        assert "ask-first (Ask first): Asks about what is unclear before it begins." in lines
        assert len(lines) == 5
