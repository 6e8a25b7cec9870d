"""The pictures of tool calls: leave, calls under way, their ends, results, and a server's question."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

from playwright.async_api import expect

from scripts.server_pictures import add, tool
from tests.browser.desk import Desk, call
from tests.browser.studio import Chat

Keep = Callable[[Chat, str], Awaitable[None]]

PROGRAM = Path(__file__).resolve().parent / "harbour_server.py"
TEXT = {"type": "string"}
# Long enough for three pictures of a call that will soon be given up.
SILENCE = 16
SOON_MS = 20_000
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


def serve(desk: Desk, folder: Path) -> None:
    """Start the harbour and its radio."""
    folder.mkdir(parents=True, exist_ok=True)
    radio: dict[str, Any] = {"times": {"idle": SILENCE, "total": 60}}
    for name, tools, more in (("Harbour", TOOLS, {}), ("Radio", RADIO, radio)):
        listed = folder / f"{name}.json"
        listed.write_text(json.dumps(tools), encoding="utf-8")
        add(desk.studio, name, shlex.join([sys.executable, str(PROGRAM), "--tools", str(listed)]), **more)


async def in_every_light(desk: Desk, keep: Keep, name: str, phone: tuple[int, int]) -> None:
    """Take a picture, the same in the dark, and the same on a telephone."""
    page, wide = desk.page, desk.page.viewport_size
    assert wide is not None
    await desk.rest()
    await keep(desk.chat, name)
    await page.emulate_media(color_scheme="dark")
    await keep(desk.chat, f"{name}-dark")
    await page.set_viewport_size({"width": phone[0], "height": phone[1]})
    await page.emulate_media(color_scheme="light")
    await keep(desk.chat, f"{name}-phone")
    await page.set_viewport_size(wide)


async def take(chat: Chat, folder: Path, keep: Keep, phone: tuple[int, int]) -> None:
    """Hold the conversations and take all pictures of their calls."""
    desk = Desk(chat.studio, chat)
    serve(desk, folder)
    await leave(desk, keep, phone)
    await under_way(desk, keep, phone)
    await question(desk, keep)
    await result(desk, keep)
    await choice(desk, keep)
    await ends(desk, keep)
    for server in chat.studio.server.get("/api/servers")["servers"]:
        chat.studio.server.client.delete(f"/api/servers/{server['id']}")


async def end(desk: Desk) -> None:
    """Let nothing of a conversation stay in the list."""
    desk.studio.server.client.delete(f"/api/conversations/{desk.chat.conversation}")


async def leave(desk: Desk, keep: Keep, phone: tuple[int, int]) -> None:
    """Arguments that arrive, and the question whether the call may be made."""
    await desk.begin("Two nights in Bergen")
    writing = {**ask("send_message", **MESSAGE), "pieces": 12, "every": 0.12}
    await desk.say("Ask the office in Bergen for a berth.", [writing], "I asked them.", allow=())
    await expect(desk.card("harbour.send_message")).to_contain_text(re.compile(r"Receiving args... [1-9]\d\d? bytes"))
    await keep(desk.chat, "receiving")
    await expect(desk.approval).to_be_visible()
    await in_every_light(desk, keep, "approval", phone)
    await desk.approval.get_by_role("button", name="Deny", exact=True).click()
    await end(desk)


async def under_way(desk: Desk, keep: Keep, phone: tuple[int, int]) -> None:
    """Calls side by side, one of which will soon be given up."""
    await desk.begin("Passage to Bergen")
    together = [
        ask("tides", harbour="Bergen", day="tomorrow"),
        ask("download_charts", coast="Hordaland"),
        ask("call_office", harbour="Bergen"),
        call("listen", "radio", channel=16),
    ]
    await desk.say(
        "Prepare tomorrow's passage to Bergen.", ["I will look at four things at once.", *together], allow=ALLOW
    )
    await expect(desk.card("radio.listen")).to_contain_text("Times out in", timeout=SOON_MS)
    await in_every_light(desk, keep, "calls", phone)
    await desk.chat.stop.click()
    await end(desk)


async def question(desk: Desk, keep: Keep) -> None:
    """A server asks by a form."""
    await desk.begin("A berth for two nights")
    await desk.say("Reserve a berth in Bergen.", [ask("reserve_berth", harbour="Bergen", nights=2)], allow=ALLOW)
    await desk.question.get_by_label("Name of the boat").fill("Havsule")
    await desk.rest()
    await keep(desk.chat, "elicitation")
    await desk.question.get_by_role("button", name="Cancel the call").click()
    await end(desk)


async def result(desk: Desk, keep: Keep) -> None:
    """Results by what they are."""
    await desk.begin("The harbour of Bergen")
    calls = [ask("tides", harbour="Bergen", day="tomorrow"), ask("draw_chart", harbour="Bergen")]
    await desk.say("Show me the harbour.", calls, "High water is at 06:12 and at 18:40.", allow=ALLOW)
    await desk.chat.finished()
    await desk.opened("harbour.tides")
    drawn = await desk.opened("harbour.draw_chart")
    await expect(drawn.get_by_role("img")).to_have_js_property("complete", True)
    await desk.rest()
    await keep(desk.chat, "results")
    await end(desk)


async def choice(desk: Desk, keep: Keep) -> None:
    """The tools of a conversation."""
    await desk.begin("Only the tides")
    await desk.page.get_by_role("button", name="Chat settings").click()
    settings = desk.page.get_by_role("dialog", name="Chat settings")
    await settings.get_by_role("checkbox", name="Radio").uncheck()
    await settings.get_by_role("button", name="Tools of Harbour").click()
    await settings.get_by_role("checkbox", name="send_message").uncheck()
    await settings.get_by_role("checkbox", name="send_message").scroll_into_view_if_needed()
    await desk.rest()
    await keep(desk.chat, "choice")
    await desk.page.keyboard.press("Escape")
    await end(desk)


async def ends(desk: Desk, keep: Keep) -> None:
    """Every way in which a call can end."""
    for server in desk.studio.server.get("/api/servers")["servers"]:
        # Two servers in one conversation: what the one told may go to the other.
        desk.studio.server.client.patch(f"/api/servers/{server['id']}", json={"cannotSend": True}).raise_for_status()
    await desk.begin("How calls end")
    late = [call("listen", "radio", channel=16), ask("tides", harbour="Bergen"), ask("call_office", harbour="Bergen")]
    await desk.say("Is anybody there?", late, "Only the tide.", allow=ALLOW)
    await expect(desk.card("radio.listen")).to_contain_text("timed out", timeout=SOON_MS)
    await desk.say("Fetch the charts.", [ask("download_charts", coast="Hordaland")], "You stopped it.", allow=ALLOW)
    charts = desk.card("harbour.download_charts")
    await expect(charts).to_contain_text("sheet 2")
    await charts.get_by_role("button", name="Cancel").click()
    await desk.chat.finished()
    await desk.say("Listen again.", [call("listen", "radio", channel=6)], "I do not know.", allow=ALLOW)
    await expect(desk.card("channel: 6")).to_contain_text("Executing...")
    # As when the machine loses its power.
    desk.studio.server.process.kill()
    desk.studio.restart()
    await expect(desk.card("channel: 6")).to_contain_text("It is not known", timeout=SOON_MS)
    await desk.chat.finished()
    await desk.rest()
    await keep(desk.chat, "cards")
    await end(desk)
