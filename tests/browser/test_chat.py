"""The chat, as a person uses it, with a model that does what its script says."""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.browser.rooms import switch
from tests.browser.studio import Chat, Studio
from tests.support.scripted_endpoint import Endpoint, Reply
from tests.support.servers import Server
from tests.support.waiting import eventually
from tests.support.wire_writers import Say, Text

# Two pixels, blue.
PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGNgYPgPRAwADf4B/z0ZtYIAAAAASUVORK5CYII="
)
# More than none, as a time is written.
SOME_TIME = r"(0\.[1-9]|[1-9][\d.]*) s"
FORMULAS = r"""The angle \( \alpha_1 \) and $x_1 * y_1 * z$ with *only this*, which costs $5 and $6:
\[
a_1 &= b_1 \\
- c_1

= d_1
\]

```python
price = "$$"
```"""
CODE = "def ship(name: str) -> str:\n    # <b>no markup</b>\n    return f'⚓ {name}'"


async def test_the_first_start_says_what_the_built_in_model_is_good_for_and_what_comes_next(
    home: Path, page: Page
) -> None:
    with Server(home, variables={"ANTHROPIC_API_KEY": "sk-ant-only-a-test"}) as server:
        await server.open(page)
        main = page.get_by_role("main")
        await expect(main).to_contain_text("answers here. Runs on this machine without a key")
        await expect(main).to_contain_text("far too small for real questions")
        found = page.get_by_role("region", name="Found on this machine")
        await expect(found).to_contain_text("ANTHROPIC_API_KEY")
        await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
        await expect(main.get_by_role("link", name="Add a model")).to_be_visible()
        await found.get_by_role("button", name=re.compile("^Add")).first.click()
        await expect(main).to_contain_text("claude-sonnet-4-5 answers here.")
        await expect(main).not_to_contain_text("far too small")
        await expect(main.get_by_role("link", name="Add a model")).to_have_count(0)
        await expect(found).to_have_count(0)
        await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
        assert server.read("models.json")["defaultModelId"] == "anthropic-claude-sonnet-4-5"
        assert "sk-ant-only-a-test" not in await page.content()
        await page.close()


@pytest.mark.case("CHT-10")
async def test_an_answer_streams_and_then_says_what_it_cost(chat: Chat, studio: Studio) -> None:
    hold, rest = studio.hold(), {"text": "five six seven eight.", "pieces": 4, "every": 0.12}
    studio.script(
        ["One two three four ", hold.step, rest, {"usage": {"input": 1200, "output": 34, "cache_read": 1000}}]
    )
    await chat.send("Count")
    await expect(chat.answers.last).to_have_attribute("aria-busy", "true")
    await expect(chat.answers.last).to_contain_text("One two")
    await expect(chat.answers.last).not_to_contain_text("eight")
    hold.release()
    await chat.finished()
    await expect(chat.answers.last).to_contain_text("six seven eight.")
    for fact in ("1.2k tokens in", "1.0k cached", "34 out", "first token after", "tokens/s"):
        await expect(chat.answers.last).to_contain_text(fact)


async def test_an_answer_that_came_at_once_tells_no_speed(chat: Chat, studio: Studio) -> None:
    studio.script(["All of it at once.", {"wait": 0.5}, {"usage": {"input": 1200, "output": 340}}])
    answer = await chat.ask("Count")
    await expect(answer).to_contain_text("340 out")
    await expect(answer).not_to_contain_text("tokens/s")


@pytest.mark.case("MOD-23", "CHT-07")
async def test_thinking_is_asked_for_beside_the_message_where_the_model_can(chat: Chat, studio: Studio) -> None:
    think = chat.page.get_by_role("button", name="Think", exact=True)

    def asked() -> list[bool | None]:
        found = chat.studio.server.get(f"/api/conversations/{chat.conversation}")
        return [run["options"]["thinking"] for run in found["runs"]]

    await expect(think).to_have_attribute("aria-pressed", "false")
    await chat.ask("As usual")
    assert asked() == [None]
    await think.click()
    await expect(think).to_have_attribute("aria-pressed", "true")
    await chat.ask("Think")
    await chat.ask("Think again")
    assert asked()[-1] is True
    await think.click()
    await chat.ask("Enough")
    assert asked()[-1] is False
    path = studio.home / "models.json"
    kept = path.read_text()
    path.write_text(kept.replace('"supportsThinking": true', '"supportsThinking": false'))
    await expect(think).to_have_count(0)
    await chat.ask("As it can")
    assert asked()[-1] is None
    path.write_text(kept)
    await expect(think).to_have_count(1)


async def test_text_beyond_the_basic_plane_streams_whole_and_is_fetched_once(chat: Chat, studio: Studio) -> None:
    ships = "🚢⚓🌊 " * 40
    studio.script([{"text": ships, "pieces": 3, "every": 0.02}])
    fetched: list[str] = []
    chat.page.on("request", lambda request: fetched.append(request.url))
    answer = await chat.ask("Ships")
    await expect(answer).to_contain_text(ships.strip())
    snapshots = [url for url in fetched if "/api/conversations/" in url and not url.endswith(("/messages", "/context"))]
    assert len(snapshots) == 1, f"the conversation is fetched when it opens, and then only followed: {snapshots}"


async def test_thinking_is_one_line_with_its_time_that_opens(chat: Chat, studio: Studio) -> None:
    thought = "First the **harbour**, then the sea."
    hold = studio.hold()
    studio.script([{"thinking": thought, **hold.after_each(6)}, "Cast off."])
    await chat.send("Think")
    await expect(chat.fold("Thinking…")).to_contain_text(re.compile(rf"Thinking… {SOME_TIME}"))
    hold.release()
    await chat.finished()
    line = chat.fold("Thought for")
    await expect(line).to_contain_text(re.compile(rf"Thought for {SOME_TIME}"))
    await expect(chat.timeline).not_to_contain_text("harbour")
    await line.click()
    await expect(chat.rows("thinking").locator("strong")).to_have_text("harbour")
    await chat.timeline.get_by_role("button", expanded=True).click()
    await expect(chat.timeline).not_to_contain_text("harbour")


@pytest.mark.case("UI-12")
async def test_code_is_coloured_and_the_copy_button_copies_exactly_what_is_shown(
    chat: Chat, studio: Studio, browser_context: BrowserContext
) -> None:
    await browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    studio.script(f"Here:\n\n```python\n{CODE}\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n1. one\n2. two")
    answer = await chat.ask("Code")
    await expect(answer.locator("pre .hljs-keyword").first).to_have_text("def")
    assert await answer.locator("pre").inner_text() == CODE
    await answer.get_by_role("button", name="Copy code").click()
    await expect(answer.get_by_role("button", name="Copied")).to_be_visible()
    assert await chat.page.evaluate("navigator.clipboard.readText()") == CODE
    await expect(answer.get_by_role("table").get_by_role("cell")).to_have_text(["1", "2"])
    await expect(answer.get_by_role("list").get_by_role("listitem")).to_have_text(["one", "two"])


async def test_formulas_are_shown_and_copied_exactly_as_written(
    chat: Chat, studio: Studio, browser_context: BrowserContext
) -> None:
    await browser_context.grant_permissions(["clipboard-read", "clipboard-write"])
    studio.script([{"text": FORMULAS, "pieces": 5, "every": 0.001}])
    answer = await chat.ask("Formulas")
    await expect(answer).to_contain_text("costs $5 and $6")
    shown = str(await answer.inner_text())
    for formula in (
        r"\( \alpha_1 \)",
        "$x_1 * y_1 * z$",
        "\\[\na_1 &= b_1 \\\\\n- c_1\n\n= d_1\n\\]",
        "costs $5 and $6",
    ):
        assert formula in shown
    await expect(answer.locator("em")).to_have_text(["only this"])
    await answer.hover()
    await answer.get_by_role("button", name="Copy answer").click()
    await expect(answer.get_by_role("button", name="Copied")).to_be_visible()
    assert await chat.page.evaluate("navigator.clipboard.readText()") == FORMULAS


async def test_a_title_made_by_the_model_appears_by_itself(chat: Chat, studio: Studio) -> None:
    async with Endpoint() as endpoint:
        model = {"name": "Titled", "provider": "openai-compatible", "baseUrl": f"{endpoint.url}/v1", "model": "any"}
        endpoint.answer(Reply(Say((Text(["Two half hitches."]),))), Reply(Say((Text(["Mooring for the night"]),))))
        made = await asyncio.to_thread(studio.server.post, "/api/models", model, 201)
        await chat.page.get_by_role("button", name="Model: Script").click()
        await chat.page.get_by_role("menuitemradio", name="Titled").click()
        await chat.ask("Which knot do I tie to a ring?")
        await expect(chat.page.get_by_role("link", name="Mooring for the night")).to_be_visible()
        await expect(chat.page).to_have_title("Mooring for the night · Pilothouse")
        await asyncio.to_thread(studio.server.client.delete, f"/api/models/{made['id']}")


async def test_stop_ends_the_run_and_closes_the_connection_to_the_model(chat: Chat, studio: Studio) -> None:
    async with Endpoint() as endpoint:
        model = {"name": "Slow", "provider": "openai-compatible", "baseUrl": f"{endpoint.url}/v1", "model": "slow"}
        made = await asyncio.to_thread(studio.server.post, "/api/models", model, 201)
        await chat.page.get_by_role("button", name="Model: Script").click()
        await chat.page.get_by_role("menuitemradio", name="Slow").click()
        await chat.send("Tell me everything")
        await expect(chat.answers.last).to_contain_text("token token")
        await chat.stop.click()
        await endpoint.until_closed()
        await chat.finished()
        await expect(chat.timeline).to_contain_text("Stopped by you.")
        await expect(chat.timeline.get_by_role("button", name="Go on")).to_be_visible()
        runs = (await asyncio.to_thread(chat.snapshot))["runs"]
        assert [run["status"] for run in runs] == ["cancelled"]
        assert len(endpoint.requests) == 1
        await asyncio.to_thread(studio.server.client.delete, f"/api/models/{made['id']}")


async def test_a_message_that_is_written_meanwhile_says_when_it_can_be_sent(chat: Chat, studio: Studio) -> None:
    studio.script([{"text": "Slowly and at length. " * 50, "pieces": 10, "every": 0.2}])
    await chat.send("Tell me.")
    await chat.box.fill("And then?")
    hint = chat.page.get_by_text("Can be sent once this answer has ended")
    await expect(hint).to_be_visible()
    await chat.box.press("Control+Enter")
    await expect(chat.box).to_have_value("And then?")
    await chat.stop.click()
    await chat.finished()
    await expect(hint).to_have_count(0)


@pytest.mark.case("PLT-03")
async def test_a_conversation_is_titled_renamed_deleted_and_brought_back(chat: Chat, studio: Studio) -> None:
    studio.script("Fair winds.")
    await chat.ask("How to tie a bowline?\nPlease.")
    conversation = chat.conversation
    side = chat.page.get_by_role("complementary", name="Conversations")
    row = side.get_by_role("listitem").filter(has_text="How to tie a bowline?")
    await expect(row).to_have_count(1)
    await expect(chat.page).to_have_title("How to tie a bowline? · Pilothouse")
    await row.hover()
    await row.get_by_role("button", name="Rename").click()
    await side.get_by_role("textbox", name="Title").fill("Knots")
    await chat.page.keyboard.press("Enter")
    await expect(side.get_by_role("link", name="Knots")).to_be_visible()
    await expect(chat.page).to_have_title("Knots · Pilothouse")
    await side.get_by_role("button", name="Delete Knots").click()
    await expect(side.get_by_role("link", name="Knots")).to_have_count(0)
    await expect(chat.page).to_have_url(f"{studio.url}/")
    assert conversation not in [one["id"] for one in studio.server.get("/api/conversations")["conversations"]]
    await chat.page.get_by_role("button", name="Undo").click()
    await expect(side.get_by_role("link", name="Knots")).to_be_visible()
    await expect(chat.answers.last).to_contain_text("Fair winds.")


@pytest.mark.case("CHT-11", "PLT-03", "PLT-04")
async def test_an_image_is_attached_shown_and_sent(chat: Chat, studio: Studio) -> None:
    studio.script("A small blue picture.")
    image = {"name": "blue.png", "mimeType": "image/png", "buffer": PNG}
    await chat.page.locator("input[type=file]").set_input_files(image)  # type: ignore[arg-type]
    attached = chat.page.get_by_role("list", name="Attached images")
    await expect(attached.get_by_role("img", name="blue.png")).to_be_visible()
    await attached.get_by_role("button", name="Remove blue.png").click()
    await expect(attached).to_have_count(0)
    await chat.page.locator("input[type=file]").set_input_files(image)  # type: ignore[arg-type]
    await chat.ask("What is this?")
    shown = chat.rows("user_message").get_by_role("img")
    assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 2
    await expect(attached).to_have_count(0)
    item = chat.snapshot()["items"][0]
    assert [(one["mediaType"], one["name"]) for one in item["data"]["content"]] == [("image/png", "blue.png")]
    assert studio.server.client.get(f"/api/items/{item['id']}/parts/0").content == PNG


@pytest.mark.case("CHT-07", "CHT-08", "CHT-14")
async def test_a_conversation_has_its_own_prompt_length_thinking_and_folder(
    chat: Chat, studio: Studio, tmp_path: Path
) -> None:
    page = chat.page
    await page.get_by_role("button", name="Chat settings").click()
    dialog = page.get_by_role("dialog", name="Chat settings")
    await dialog.get_by_label("System prompt").fill("Speak like a sailor.")
    await dialog.get_by_label("Temperature").fill("0.3")
    await dialog.get_by_label("Max tokens").fill("99999999999999")
    await expect(dialog.get_by_text("No model gives or takes more than 1,000,000,000 tokens.")).to_be_visible()
    await dialog.get_by_label("Max tokens").fill("512")
    await expect(dialog.get_by_text("No model gives or takes more than")).to_be_hidden()
    await dialog.get_by_label("Working directory").fill(str(tmp_path))
    await switch(dialog.get_by_role("switch", name="Thinking"), True)
    await page.keyboard.press("Escape")
    await chat.ask("Ahoy")
    expected: dict[str, object] = {
        "modelId": None,
        "systemPrompt": "Speak like a sailor.",
        "temperature": 0.3,
        "maxTokens": 512,
        "thinking": True,
        "workingDirectory": str(tmp_path),
        "selection": None,
        "mode": "default",
        "topicId": None,
        "prompt": None,
        "promptValues": {},
        "miniPrompts": [],
    }
    kept = chat.snapshot()["conversation"]["settings"]
    assert {name: value for name, value in kept.items() if name != "modeSince"} == expected
    await page.reload()
    await page.get_by_role("button", name="Chat settings").click()
    await expect(dialog.get_by_label("System prompt")).to_have_value("Speak like a sailor.")
    await dialog.get_by_label("System prompt").fill("")
    await page.keyboard.press("Escape")

    async def is_default() -> bool:
        return chat.snapshot()["conversation"]["settings"]["systemPrompt"] is None

    await eventually(is_default, "the prompt to be the default again")


@pytest.mark.case("NAT-01", "NAT-02", "NAT-04")
async def test_a_conversation_says_which_of_the_providers_own_tools_it_uses(chat: Chat) -> None:
    page = chat.page
    await chat.ask("Ahoy")
    await page.get_by_role("button", name="Chat settings").click()
    dialog = page.get_by_role("dialog", name="Chat settings")
    search = dialog.get_by_role("radiogroup", name="Web search")

    async def kept(search: bool | None, code: bool | None) -> None:
        async def is_kept() -> bool:
            selection = chat.snapshot()["conversation"]["settings"].get("selection")
            native = selection["nativeTools"] if selection else {}
            return (native.get("webSearch"), native.get("codeExecution")) == (search, code)

        await eventually(is_kept, "the choice to be kept")

    await search.get_by_text("On", exact=True).click()
    await dialog.get_by_role("radiogroup", name="Code execution").get_by_text("Off", exact=True).click()
    await kept(True, False)
    await page.reload()
    await page.get_by_role("button", name="Chat settings").click()
    await expect(search.get_by_role("radio", name="On")).to_be_checked()
    await search.get_by_text("Default", exact=True).click()
    await kept(None, False)


async def test_a_tool_call_shows_its_phases_its_time_and_its_result(chat: Chat, studio: Studio) -> None:
    hold = studio.hold()
    call = {"call": "think", "arguments": {"thoughts": "Reef the sails first"}, **hold.after_each(6)}
    studio.script([call], "Sails are reefed.")
    await chat.send("Storm")
    line = chat.rows("tool_call")
    await expect(line).to_contain_text("Receiving args...")
    await expect(line.get_by_role("button", name="Cancel")).to_be_visible()
    hold.release()
    await chat.finished()
    await expect(line).to_contain_text(re.compile(r"Thought: Reef the sails first\s*Completed.*[\d.]+ m?s$"))
    await chat.fold("Reef the sails").click()
    await expect(line.get_by_label("Arguments", exact=True)).to_contain_text('thoughts:"Reef the sails first"')
    await expect(line.get_by_label("Result", exact=True)).to_contain_text("Noted.")
    await expect(chat.answers.last).to_contain_text("Sails are reefed.")


@pytest.mark.case("F-32")
async def test_a_model_that_repeats_itself_is_stopped_by_a_question_in_the_page(chat: Chat, studio: Studio) -> None:
    again = [{"call": "think", "arguments": {"thoughts": "again"}}]
    studio.script(again, again, again, again, "Enough of that.")
    await chat.send("Loop")
    question = chat.dock.get_by_role("region", name="Question")
    await expect(question).to_contain_text("4 times in a row with the same arguments. Go on?")
    await expect(chat.timeline).to_contain_text("Waiting for you")
    await chat.page.reload()
    await question.get_by_role("button", name="Go on").click()
    await chat.finished()
    await expect(question).to_have_count(0)
    settled = chat.timeline.get_by_role("region", name="Question")
    await expect(settled).to_contain_text("You answered: Go on.")
    await expect(settled.get_by_role("button")).to_have_count(0)
    await expect(chat.answers.last).to_contain_text("Enough of that.")


async def test_a_failed_run_says_why_and_tries_again_when_asked(chat: Chat, studio: Studio) -> None:
    studio.script([{"fault": 401, "message": "no such key"}])
    await chat.send("Hello")
    alert = chat.timeline.get_by_role("alert")
    await expect(alert).to_contain_text("The provider refused the key (401): no such key.")
    await expect(alert).to_contain_text("Settings, Models")
    studio.script("Now it works.")
    await alert.get_by_role("button", name="Try again").click()
    await chat.finished()
    await expect(chat.answers.last).to_contain_text("Now it works.")
    await expect(alert).to_have_count(0)
    await expect(chat.rows("user_message")).to_have_count(1)


async def test_a_rate_limit_counts_down_and_then_goes_on(chat: Chat, studio: Studio) -> None:
    studio.script([{"fault": 429, "retryAfter": 5, "times": 1}, "Here I am."])
    await chat.send("Busy?")
    await expect(chat.rows("notice")).to_contain_text(re.compile(r"Trying again in [1-5] s\."))
    await chat.finished()
    await expect(chat.answers.last).to_contain_text("Here I am.")
    await expect(chat.timeline).not_to_contain_text("Trying again in")
