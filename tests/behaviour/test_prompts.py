"""Own prompts and mini prompts: chosen for a conversation, said to the model, and never behind the person's back."""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pilothouse.types.api import ConversationPatch, NewConversation
from pilothouse.types.conversations import Conversation, ConversationSettings
from pilothouse.types.errors import PilothouseError
from pilothouse.types.prompts import PromptInput, PromptValues
from pilothouse.types.topics import TopicInput
from tests.behaviour.test_todos import with_model
from tests.support.chats import ME, Chat, open_chat
from tests.support.request_prefix import check_extends
from tests.support.sampling import first_and_some
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.wire_writers import WIRES, Say, Text, Wire

ABOUT = "---\ntitle: Pirate\ndescription: Speaks like one.\n---\n\n"
PIRATE = f"{ABOUT}You are a pirate named {{{{name}}}} of the {{{{ship=Albatross}}}}.\n"


def file_of(home: Path, kind: str, name: str) -> Path:
    path = home / kind / f"{name}.md"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


async def change(chat: Chat, **settings: Any) -> Conversation:
    now = (await chat.snapshot()).conversation.settings
    patch = ConversationPatch(settings=msgspec.structs.replace(now, **settings))
    return await chat.api.conversations.update(ME, chat.id, patch)


async def refused(work: Any) -> PilothouseError:
    with pytest.raises(PilothouseError) as raised:
        await work
    return raised.value


def talks(times: int) -> list[Reply]:
    return [Reply(Say((Text(["Aye."]),))) for _ in range(times)]


@pytest.mark.case("CHT-16")
async def test_a_chosen_prompt_is_the_system_prompt_with_its_variables_filled_in(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        file_of(home, "prompts", "pirate").write_text(PIRATE)
        await with_model(chat, endpoint, "openai-compatible")
        endpoint.answer(*talks(1))
        chosen = await change(chat, prompt="pirate", prompt_values={"name": "Anne"})
        assert chosen.settings.system_prompt == "You are a pirate named Anne of the Albatross."
        await chat.say("Who are you?")
        system = endpoint.requests[0].json["messages"][0]
        assert system["role"] == "system"
        assert system["content"].startswith("You are a pirate named Anne of the Albatross.")
        assert "helpful assistant" not in system["content"]
        off = await change(chat, prompt=None, system_prompt=None)
        assert (off.settings.prompt, off.settings.system_prompt, off.settings.prompt_values) == (None, None, {})


@pytest.mark.case("CHT-16")
async def test_a_prompt_s_file_that_changes_later_changes_no_conversation(home: Path) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        path = file_of(home, "prompts", "pirate")
        path.write_text(PIRATE)
        await with_model(chat, endpoint, "openai-compatible")
        endpoint.answer(*talks(3))
        await change(chat, prompt="pirate", prompt_values={"name": "Anne"})
        await chat.say("One")
        path.write_text("You are a parrot.")
        await change(chat, temperature=0.5)
        await change(chat, temperature=None)
        await chat.say("Two")
        check_extends(endpoint.requests[0].body, endpoint.requests[1].body)
        path.unlink()
        assert (await change(chat, max_tokens=500)).settings.prompt == "pirate"
        path.write_text("You are a parrot.")
        # Chosen again, it is what the file says now.
        again = await change(chat, system_prompt=None, max_tokens=None)
        assert (again.settings.system_prompt, again.settings.prompt_values) == ("You are a parrot.", {})


@pytest.mark.case("CHT-16")
async def test_what_a_prompt_knows_by_itself_is_filled_in_until_something_was_said(home: Path, tmp_path: Path) -> None:
    async with open_chat(home) as chat:
        said = "{{date}} {{folder=no folder}} {{topic=no topic}} {{model}}"
        await chat.api.prompts.put(ME, "facts", PromptInput(text=said, title="Facts"))
        settings = (await change(chat, prompt="facts")).settings
        today = time.strftime("%Y-%m-%d")
        assert settings.system_prompt == f"{today} no folder no topic {settings.model_id}"
        topic = await chat.api.topics.create(ME, TopicInput(name="Garden"))
        settings = (await change(chat, working_directory=str(tmp_path), topic_id=topic.id)).settings
        assert settings.system_prompt == f"{today} {tmp_path} Garden {settings.model_id}"
        await chat.say()
        settings = (await change(chat, working_directory=None)).settings
        assert str(tmp_path) in (settings.system_prompt or "")


@pytest.mark.case("CHT-16")
async def test_one_s_own_words_take_the_place_of_a_prompt(home: Path) -> None:
    async with open_chat(home) as chat:
        file_of(home, "prompts", "pirate").write_text(PIRATE)
        await change(chat, prompt="pirate", prompt_values={"name": "Anne"})
        own = await change(chat, system_prompt="My own words.")
        assert (own.settings.prompt, own.settings.system_prompt) == (None, "My own words.")


@pytest.mark.case("CHT-16")
async def test_what_cannot_be_chosen_is_refused_in_a_sentence(home: Path) -> None:
    async with open_chat(home) as chat:
        file_of(home, "prompts", "pirate").write_text(PIRATE)
        missing = await refused(change(chat, prompt="pirate"))
        assert missing.message == "The prompt “pirate” needs a value for: name."
        unknown = await refused(change(chat, prompt="nobody"))
        assert unknown.message == "There is no prompt “nobody”."
        assert "pirate" in unknown.fix
        mini = await refused(change(chat, mini_prompts=("concise", "nobody")))
        assert mini.message == "There is no mini prompt “nobody”."
        many = await refused(change(chat, mini_prompts=tuple(f"m{number}" for number in range(13))))
        assert many.message == "At most 12 mini prompts can be on at once."
        long = await refused(change(chat, prompt="pirate", prompt_values={"name": "x" * 20_001}))
        assert "at most 20,000 characters" in long.message
        begun = await refused(
            chat.api.conversations.create(ME, NewConversation(settings=ConversationSettings(prompt="nobody")))
        )
        assert begun.code == "bad_request"
        assert (await chat.snapshot()).conversation.settings.prompt is None


# --- mini prompts ---


@pytest.mark.case("REM-05", "CHT-16")
@pytest.mark.parametrize("wire", first_and_some(WIRES))
async def test_mini_prompts_are_said_with_every_message_and_nothing_is_rewritten(home: Path, wire: Wire) -> None:
    async with Endpoint() as endpoint, open_chat(home) as chat:
        path = file_of(home, "mini-prompts", "rhyme")
        path.write_text("---\ntitle: Rhyme\n---\nAnswer in rhymes.")
        await with_model(chat, endpoint, wire)
        endpoint.answer(*talks(5))
        await change(chat, mini_prompts=("rhyme",))
        await chat.say("One")
        await chat.say("Two")
        path.write_text("---\ntitle: Rhyme\n---\nAnswer in limericks.")
        await chat.say("Three")
        await change(chat, mini_prompts=())
        await chat.say("Four")
        await chat.say("Five")
        sent = [request.body.decode() for request in endpoint.requests]
        for before, after in itertools.pairwise(endpoint.requests):
            check_extends(before.body, after.body)
        assert [text.count("<miniPromptReminder>") for text in sent] == [1, 2, 3, 3, 3]
        assert [text.count("Answer in rhymes.") for text in sent] == [1, 2, 2, 2, 2]
        assert [text.count("Answer in limericks.") for text in sent] == [0, 0, 1, 1, 1]
        assert "take priority" in sent[1][sent[1].index("Aye.") :]
        for number, text in enumerate(sent[:3]):
            assert text.rindex("</miniPromptReminder>") < text.rindex(("One", "Two", "Three")[number])
        assert sent[3].rindex("does not hold any more") < sent[3].rindex("Four")


@pytest.mark.case("REM-05")
async def test_a_conversation_without_mini_prompts_is_reminded_of_none(home: Path) -> None:
    async with open_chat(home) as chat:
        await chat.say()
        await chat.say()
        assert {item.kind for item in await chat.items()} == {"user_message", "response"}


@pytest.mark.case("REM-05")
async def test_a_mini_prompt_that_is_gone_hinders_nothing(home: Path) -> None:
    async with open_chat(home, ["One.", "Two.", "Three."]) as chat:
        path = file_of(home, "mini-prompts", "rhyme")
        path.write_text("Answer in rhymes.")
        await change(chat, mini_prompts=("rhyme", "concise"))
        await chat.say()
        path.unlink()
        assert (await chat.say()).status == "completed"
        *_, last = await chat.texts("reminder")
        assert "rhymes" not in last
        assert "briefly" in last
        assert (await change(chat, temperature=1.0)).settings.mini_prompts == ("rhyme", "concise")


# --- what a profile names ---


@pytest.mark.case("CHT-16")
async def test_a_profile_s_prompt_is_taken_and_one_that_is_gone_is_left_out(home: Path) -> None:
    async with open_chat(home) as chat:
        path = file_of(home, "prompts", "parrot")
        path.write_text("You are a parrot.")
        from pilothouse.types.api import ConfigPatch

        profile = {"id": "p", "name": "P", "settings": {"prompt": "parrot", "miniPrompts": ["concise"]}}
        body = msgspec.convert({"profiles": [profile], "activeProfile": "p"}, ConfigPatch)
        await chat.api.settings.update(ME, body)
        begun = await chat.api.conversations.create(ME, NewConversation())
        assert (begun.settings.system_prompt, begun.settings.mini_prompts) == ("You are a parrot.", ("concise",))
        path.unlink()
        begun = await chat.api.conversations.create(ME, NewConversation())
        assert (begun.settings.prompt, begun.settings.system_prompt) == (None, None)
        assert begun.settings.mini_prompts == ("concise",)


# --- the verbs ---


@pytest.mark.case("CHT-16")
async def test_prompts_are_written_listed_filled_in_and_deleted(home: Path) -> None:
    async with open_chat(home) as chat:
        api = chat.api.prompts
        made = await api.put(ME, "pirate", PromptInput(text="I am {{name}}.", title="Pirate", description="Speaks."))
        path = home / "prompts" / "pirate.md"
        assert made.path == str(path)
        assert path.read_text() == "---\ntitle: Pirate\ndescription: Speaks.\n---\n\nI am {{name}}.\n"
        listed = await api.list(ME)
        [found] = [each for each in listed.prompts if each.name == "pirate"]
        assert (found.title, found.description, found.built_in) == ("Pirate", "Speaks.", False)
        assert [each.name for each in found.variables] == ["name"]
        assert {"code-review", "teacher", "translator"} <= {each.name for each in listed.prompts if each.built_in}
        filled = await api.fill(ME, "pirate", PromptValues(values={"name": "{{date}}"}, conversation_id=chat.id))
        assert filled.text == "I am {{date}}."
        assert (await api.fill(ME, "pirate", PromptValues())).missing == ("name",)
        await api.delete(ME, "pirate")
        assert (await refused(api.get(ME, "pirate"))).code == "not_found"
        assert not path.exists()


@pytest.mark.case("CHT-16")
async def test_a_built_in_mini_prompt_can_be_rewritten_and_had_back(home: Path) -> None:
    async with open_chat(home) as chat:
        api = chat.api.mini_prompts
        names = {each.name for each in (await api.list(ME)).prompts}
        assert names == {"ask-first", "cite-sources", "concise", "explain-steps", "plain-language"}
        was = await api.get(ME, "concise")
        assert was.built_in
        assert "cannot be deleted" in (await refused(api.delete(ME, "concise"))).message
        await api.put(ME, "concise", PromptInput(text="One word."))
        now = await api.get(ME, "concise")
        assert (now.text, now.built_in) == ("One word.", False)
        await api.delete(ME, "concise")
        assert await api.get(ME, "concise") == was
