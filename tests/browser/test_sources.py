"""What an answer cites: links below it that show where they lead, and nothing else whatever a stranger wrote."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from playwright.async_api import expect

from tests.browser.studio import Chat, Studio
from tests.browser.width import fits

HOSTILE: list[Mapping[str, Any]] = [
    {"cite": "https://boats.example/tides?x=1", "title": "Tides, explained", "quote": "Twice a day."},
    {"cite": "https://evil.example/", "title": "https://bank.example"},
    {"cite": "https://bank.example@evil.example/a", "title": "\u202eelpmaxe.knab\x1b[31m"},
    {"cite": "javascript:alert(1)", "title": "<img src=x onerror=alert(1)>"},
    {"cite": "", "title": "A book that has only a title"},
    {"cite": "https://long.example/", "title": "Very long title " * 80},
    {"cite": "https://boats.example/tides?x=1", "title": "Again"},
    {"cite": f"https://{'very-long-host.' * 12}example/", "title": "Short"},
    {"cite": "https://more.example/", "title": ""},
]


async def test_sources_are_links_that_show_where_they_lead(chat: Chat, studio: Studio) -> None:
    studio.script(["The tide turns twice a day.", *HOSTILE])
    answer = await chat.ask("When?")
    sources = answer.get_by_role("region", name="Sources")
    await expect(sources.get_by_role("listitem")).to_have_count(7)
    await sources.get_by_role("button", name="2 more").click()
    await expect(sources.get_by_role("listitem")).to_have_count(8)
    links = sources.get_by_role("link")
    assert [await link.get_attribute("href") for link in await links.all()] == [
        "https://boats.example/tides?x=1",
        "https://evil.example/",
        "https://evil.example/a",
        "https://long.example/",
        f"https://{'very-long-host.' * 12}example/",
        "https://more.example/",
    ]
    assert {await link.get_attribute("rel") for link in await links.all()} == {"noopener noreferrer"}
    await expect(links.nth(0)).to_have_text("1Tides, explainedboats.example")
    # Whatever a title says, the host that it leads to stands beside it.
    await expect(links.nth(1)).to_contain_text("evil.example")
    await expect(links.nth(2)).to_have_text("3elpmaxe.knab [31mevil.example")
    await expect(sources).to_contain_text("<img src=x onerror=alert(1)>")
    await expect(sources.locator("img")).to_have_count(0)
    await chat.page.reload()
    await expect(answer.get_by_role("region", name="Sources").get_by_role("link")).to_have_count(4)


@pytest.mark.parametrize("width", [1280, 768, 390])
async def test_sources_fit_every_width(chat: Chat, studio: Studio, width: int) -> None:
    studio.script(["The tide turns twice a day.", *HOSTILE])
    await chat.page.set_viewport_size({"width": width, "height": 640})
    answer = await chat.ask("When?")
    sources = answer.get_by_role("region", name="Sources")
    await sources.get_by_role("button", name="2 more").click()
    await expect(sources.get_by_role("listitem")).to_have_count(8)
    room = await answer.bounding_box()
    assert room is not None
    for source in await sources.get_by_role("listitem").all():
        box = await source.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= room["x"] + room["width"] + 1
    await fits(chat.page)
    # A long title gives way to the host beside it: that says where the link leads.
    long = sources.get_by_role("link").filter(has_text="long.example")
    lines = await long.evaluate("link => link.lastElementChild.getClientRects().length")
    height = await long.evaluate("link => link.lastElementChild.getBoundingClientRect().height")
    assert (lines, height < 30) == (1, True)
