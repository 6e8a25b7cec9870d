"""What Gemini alone does, as a person meets it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pilothouse.types.api import ConversationPatch, ModelInput
from pilothouse.types.selection import NativeTools, Selection
from tests.support.chats import ME, open_chat
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import Native, Say, Text

DONE = Reply(Say((Text(["Done."]),)))


async def test_a_call_that_gemini_could_not_read_is_asked_for_again_and_told_in_its_words(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await chat.use(ModelInput(name="m", id="m", provider="gemini", model="gemini-3-pro", base_url=endpoint.url))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        broken = Reply(Say((), stop="malformed"))
        endpoint.answer(broken, DONE)
        assert (await chat.say("Call")).status == "completed"
        assert [item.raw["code"] for item in await chat.items("notice")] == ["malformed_call"]
        assert (await chat.texts("response"))[-1] == "Done."
        endpoint.answer(broken)
        run = await chat.say("Again")
        assert run.error is not None
        assert "“Malformed function call: print(x”" in run.error.message


async def test_a_conversation_says_once_that_an_older_model_is_asked_without_its_own_tools(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        about: Any = {"provider": "gemini", "model": "gemini-2.5-flash", "base_url": endpoint.url}
        await chat.use(ModelInput(name="m", id="m", **about))
        await chat.api.conversations.update(ME, chat.id, ConversationPatch(title="Named"))
        endpoint.answer(DONE)
        searching = Selection(native_tools=NativeTools(web_search=True))
        for words in ("First", "Second"):
            assert (await chat.say(words, selection=searching)).status == "completed"
        (notice,) = await chat.items("notice")
        assert "web search beside other tools" in notice.text
        assert all("googleSearch" not in asked.body.decode() for asked in endpoint.requests)


async def test_what_gemini_ran_and_signed_goes_back_where_it_stood(home: Path) -> None:
    signed = {"thoughtSignature": "U0lHTkFUVVJF"}
    code: dict[str, Any] = {"executableCode": {"language": "PYTHON", "code": "print(1)"}, **signed}
    result = {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}}
    parts: list[dict[str, Any]] = [{"text": "before "}, code, result, {"text": "after", **signed}, {"text": " and on"}]
    async with Endpoint() as endpoint, open_chat(home) as chat:
        await chat.use(ModelInput(name="m", id="m", provider="gemini", model="gemini-3-pro", base_url=endpoint.url))
        endpoint.answer(Reply(Say(tuple(Native(part) for part in parts))), DONE)
        await chat.say("Count")
        assert await chat.texts("response") == ["before after and on"]
        await chat.say("And?")
        assert endpoint.requests[-1].json["contents"][1] == {"role": "model", "parts": parts}
