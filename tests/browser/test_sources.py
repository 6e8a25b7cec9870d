"""What an answer cites takes no more room than there is."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.studio import Chat, Studio
from tests.browser.width import fits
from tests.web.scenes import HOSTILE


async def test_sources_fit_every_width_and_are_there_after_a_reload(chat: Chat, studio: Studio) -> None:
    studio.script(["The tide turns twice a day.", *HOSTILE])
    answer = await chat.ask("When?")
    sources = answer.get_by_role("region", name="Sources")
    await sources.get_by_role("button", name="2 more").click()
    await expect(sources.get_by_role("listitem")).to_have_count(8)
    for width in (1280, 768, 390):
        await chat.page.set_viewport_size({"width": width, "height": 640})
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
    await chat.page.reload()
    await expect(sources.get_by_role("link")).to_have_count(4)
