"""Ten thousand tools: fetched in pages, shown by their beginning, found by a word, and the page is never still."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import BrowserContext, Response, expect

from pilothouse.types import limits
from tests.browser.rooms import open_rooms, start_mcp_server, write_tools
from tests.browser.studio import Studio
from tests.browser.test_ui_load import never_still

SERVERS = 5
EACH = limits.LIST_TOOLS
# Until all of them have come, page by page, on a machine that has much else to do.
ALL_MS = 60_000


def a_tool(number: int) -> dict[str, object]:
    description = f"Does what number {number} does, and says so in a sentence of the usual length for one."
    properties = {name: {"type": "string", "description": "What it is for."} for name in ("path", "text", "mode")}
    return {
        "name": f"tool_{number:05}",
        "description": description,
        "inputSchema": {"type": "object", "properties": properties},
    }


@pytest.mark.slow
async def test_ten_thousand_tools_are_shown_and_searched_without_holding_up_the_page(
    own: Studio, browser_context: BrowserContext, tmp_path: Path
) -> None:
    rooms = await open_rooms(own, browser_context)
    for number in range(SERVERS):
        made = [a_tool(number * EACH + each) for each in range(EACH)]
        start_mcp_server(own, f"Server {number}", ["--tools", write_tools(tmp_path / f"{number}.json", *made)])
    answers: list[Response] = []
    rooms.page.on("response", lambda answer: answers.append(answer) if "/api/tools" in answer.url else None)
    async with never_still(rooms.page):
        await rooms.page.keyboard.press("Alt+t")
        await expect(rooms.page.get_by_role("status").filter(has_text="10000 tools")).to_be_visible(timeout=ALL_MS)
        await expect(rooms.page.get_by_role("listitem", name="tool_00099")).to_be_visible()
        search = rooms.page.get_by_role("textbox", name="Search tools")
        await search.press_sequentially("number 7654")
        await expect(rooms.page.get_by_role("listitem", name="tool_07654")).to_be_visible()
        await expect(rooms.page.get_by_role("status").filter(has_text="1 of 10000 tools")).to_be_visible()
        await search.fill("")
        # By key: the rows above it get their height while it comes into view, and a click may miss what moves.
        await rooms.page.get_by_role("button", name="9900 more").press("Enter")
        await expect(rooms.page.get_by_role("listitem", name="tool_00599")).to_be_attached()
    assert len(answers) == SERVERS * EACH / limits.PAGE_ITEMS
    assert ["cursor=" in answer.url for answer in answers] == [False] + [True] * (len(answers) - 1)
