"""The pictures of tool calls: approval, calls under way, their ends, results, and a server's question."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from playwright.async_api import ViewportSize, expect

from scripts.server_pictures import add, tool
from tests.browser.approving import Reviewer, call
from tests.browser.studio import Chat

Keep = Callable[[Chat, str], Awaitable[None]]

PROGRAM = Path(__file__).resolve().parent / "harbour_server.py"
TEXT = {"type": "string"}
# Long enough for four pictures of a call that will soon be given up.
SILENCE = 24
SOON_MS = 30_000
LAPTOP: ViewportSize = {"width": 1280, "height": 640}
TOOLS = (
    tool("tides", "Returns high and low water of a harbour for one day.", {"harbour": TEXT, "day": TEXT}, ("harbour",)),
    tool("draw_chart", "Draws the depths of a harbour.", {"harbour": TEXT}, ("harbour",)),
    tool("download_charts", "Fetches all sheets of a coast.", {"coast": TEXT}, ("coast",)),
    tool("call_office", "Calls the harbour office.", {"harbour": TEXT}, ("harbour",)),
    tool(
        "reserve_berth", "Reserves a berth; asks for what it needs.", {"harbour": TEXT, "nights": {"type": "integer"}}
    ),
    tool(
        "send_message",
        "Sends a message to the harbour office. It is signed with your name.",
        {"to": TEXT, "subject": TEXT, "text": TEXT},
        ("to", "text"),
    ),
)
RADIO = (tool("listen", "Listens until somebody calls.", {"channel": {"type": "integer"}}),)
MESSAGE = {
    "to": "office@bergen.example",
    "subject": "Berth for two nights",
    "text": "Good evening,\n\nwe arrive tomorrow at about 18:00 with the “Havsule”, 11 m, draught 1.8 m.\n"
    "Is there room at the north quay?\n\nFair winds,\nAda",
}
ALLOW = ("harbour.*", "radio.*")


def ask(name: str, **arguments: Any) -> dict[str, Any]:
    """A call of the harbour's."""
    return call(name, "harbour", **arguments)


def serve(reviewer: Reviewer, folder: Path) -> None:
    """Start the harbour and its radio."""
    folder.mkdir(parents=True, exist_ok=True)
    radio: dict[str, Any] = {"times": {"total": SILENCE}}
    for name, tools, more in (("Harbour", TOOLS, {}), ("Radio", RADIO, radio)):
        listed = folder / f"{name}.json"
        listed.write_text(json.dumps(tools), encoding="utf-8")
        add(reviewer.studio, name, shlex.join([sys.executable, str(PROGRAM), "--tools", str(listed)]), **more)


async def in_every_light(reviewer: Reviewer, keep: Keep, name: str, phone: tuple[int, int]) -> None:
    """Take a picture, the same in the dark, on a low screen, and on a telephone."""
    page, wide = reviewer.page, reviewer.page.viewport_size
    assert wide is not None
    await reviewer.rest()
    await keep(reviewer.chat, name)
    await page.emulate_media(color_scheme="dark")
    await keep(reviewer.chat, f"{name}-dark")
    await page.emulate_media(color_scheme="light")
    await page.set_viewport_size(LAPTOP)
    await keep(reviewer.chat, f"{name}-laptop")
    await page.set_viewport_size({"width": phone[0], "height": phone[1]})
    await keep(reviewer.chat, f"{name}-phone")
    await page.set_viewport_size(wide)


async def take(chat: Chat, folder: Path, keep: Keep, phone: tuple[int, int]) -> None:
    """Hold the conversations and take all pictures of their calls."""
    reviewer = Reviewer(chat.studio, chat)
    serve(reviewer, folder)
    await approval(reviewer, keep, phone)
    await under_way(reviewer, keep, phone)
    await question(reviewer, keep)
    await result(reviewer, keep)
    await choice(reviewer, keep)
    await ends(reviewer, keep)
    for server in chat.studio.server.get("/api/servers")["servers"]:
        chat.studio.server.client.delete(f"/api/servers/{server['id']}")


async def end(reviewer: Reviewer) -> None:
    """Let nothing of a conversation stay in the list."""
    reviewer.studio.server.client.delete(f"/api/conversations/{reviewer.chat.conversation}")


async def approval(reviewer: Reviewer, keep: Keep, phone: tuple[int, int]) -> None:
    """Arguments that arrive, and the question whether the call may be made."""
    await reviewer.begin("Two nights in Bergen")
    writing = {**ask("send_message", **MESSAGE), "pieces": 12, "every": 0.12}
    await reviewer.say("Ask the office in Bergen for a berth.", [writing], "I asked them.", allow=())
    await expect(reviewer.card("harbour.send_message")).to_contain_text(
        re.compile(r"Receiving args... [1-9]\d\d? bytes")
    )
    await keep(reviewer.chat, "receiving")
    await expect(reviewer.approval).to_be_visible()
    await in_every_light(reviewer, keep, "approval", phone)
    await reviewer.approval.get_by_role("button", name="Deny", exact=True).click()
    await end(reviewer)


async def under_way(reviewer: Reviewer, keep: Keep, phone: tuple[int, int]) -> None:
    """Calls side by side, one of which will soon be given up."""
    await reviewer.begin("Passage to Bergen")
    together = [
        ask("tides", harbour="Bergen", day="tomorrow"),
        ask("download_charts", coast="Hordaland"),
        ask("call_office", harbour="Bergen"),
        call("listen", "radio", channel=16),
    ]
    await reviewer.say(
        "Prepare tomorrow's passage to Bergen.", ["I will look at four things at once.", *together], allow=ALLOW
    )
    await reviewer.chat.open_steps()
    await expect(reviewer.card("radio.listen")).to_contain_text("Times out in", timeout=SOON_MS)
    await in_every_light(reviewer, keep, "calls", phone)
    await reviewer.chat.stop.click()
    await end(reviewer)


async def question(reviewer: Reviewer, keep: Keep) -> None:
    """A server asks by a form."""
    await reviewer.begin("A berth for two nights")
    await reviewer.say("Reserve a berth in Bergen.", [ask("reserve_berth", harbour="Bergen", nights=2)], allow=ALLOW)
    await reviewer.question.get_by_label("Name of the boat").fill("Havsule")
    await reviewer.rest()
    await keep(reviewer.chat, "elicitation")
    await reviewer.question.get_by_role("button", name="Cancel the call").click()
    await end(reviewer)


async def result(reviewer: Reviewer, keep: Keep) -> None:
    """Results by what they are."""
    await reviewer.begin("The harbour of Bergen")
    calls = [ask("tides", harbour="Bergen", day="tomorrow"), ask("draw_chart", harbour="Bergen")]
    await reviewer.say("Show me the harbour.", calls, "High water is at 06:12 and at 18:40.", allow=ALLOW)
    await reviewer.chat.finished()
    await reviewer.chat.open_steps()
    await reviewer.opened("harbour.tides")
    drawn = reviewer.chat.timeline.get_by_role("group", name="What was done").get_by_role(
        "img", name="What the tool drew"
    )
    await expect(drawn).to_have_js_property("complete", True)
    await reviewer.rest()
    await keep(reviewer.chat, "results")
    await end(reviewer)


async def choice(reviewer: Reviewer, keep: Keep) -> None:
    """The tools of a conversation."""
    await reviewer.begin("Only the tides")
    await reviewer.page.get_by_role("button", name="Chat settings").click()
    settings = reviewer.page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("checkbox", name="Radio").uncheck()
    await settings.get_by_role("button", name="Tools of Harbour").click()
    await settings.get_by_role("checkbox", name="send_message").uncheck()
    await settings.get_by_role("checkbox", name="send_message").scroll_into_view_if_needed()
    await reviewer.rest()
    await keep(reviewer.chat, "choice")
    await reviewer.page.keyboard.press("Escape")
    await end(reviewer)


async def ends(reviewer: Reviewer, keep: Keep) -> None:
    """Every way in which a call can end."""
    for server in reviewer.studio.server.get("/api/servers")["servers"]:
        # Two servers in one conversation: what the one told may go to the other.
        reviewer.studio.server.client.patch(
            f"/api/servers/{server['id']}", json={"cannotSend": True}
        ).raise_for_status()
    await reviewer.begin("How calls end")
    late = [call("listen", "radio", channel=16), ask("tides", harbour="Bergen"), ask("call_office", harbour="Bergen")]
    await reviewer.say("Is anybody there?", late, "Only the tide.", allow=ALLOW)
    await reviewer.chat.open_steps()
    await expect(reviewer.card("radio.listen")).to_contain_text("timed out", timeout=SOON_MS)
    await reviewer.say("Fetch the charts.", [ask("download_charts", coast="Hordaland")], "You stopped it.", allow=ALLOW)
    charts = reviewer.card("harbour.download_charts")
    await expect(charts).to_contain_text("sheet 2")
    await charts.get_by_role("button", name="Cancel").click()
    await reviewer.chat.finished()
    await reviewer.say("Listen again.", [call("listen", "radio", channel=6)], "I do not know.", allow=ALLOW)
    await expect(reviewer.card("channel: 6")).to_contain_text("Executing...")
    # As when the machine loses its power.
    reviewer.studio.server.process.kill()
    reviewer.studio.restart()
    await expect(reviewer.card("channel: 6")).to_contain_text("It is not known", timeout=SOON_MS)
    await reviewer.chat.finished()
    await reviewer.rest()
    await keep(reviewer.chat, "cards")
    await end(reviewer)
