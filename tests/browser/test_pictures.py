"""Pictures that were attached: fetched when they come into view, shown in their place, and never anything else."""

from __future__ import annotations

import asyncio
import base64
import re
from pathlib import Path

import pytest
from playwright.async_api import Request, Route, expect

from tests.browser.console import Console
from tests.browser.studio import Chat, Studio
from tests.support.pictures import a_png

PARTS = re.compile(r"/api/items/[\w-]+/parts/\d+$")


def tell(studio: Studio, conversation: str, text: str, *pictures: bytes) -> str:
    """Send a message with pictures as a program does, wait for its answer, and return its item's id."""
    images = [{"mediaType": "image/png", "data": base64.b64encode(data).decode()} for data in pictures]
    body = {"text": text, "images": images}
    accepted = studio.server.post(f"/api/conversations/{conversation}/messages", body, 202)
    studio.server.wait_for_run(accepted["runId"], "completed")
    return str(accepted["itemId"])


class Fetched(list[str]):
    """The parts that a tab asked for."""

    def take(self, request: Request) -> None:
        if PARTS.search(request.url):
            self.append(request.url.partition("/api/items/")[2].partition("/")[0])


@pytest.mark.case("CHT-11")
async def test_a_picture_is_fetched_when_it_comes_into_view_and_nothing_moves_then(chat: Chat, studio: Studio) -> None:
    studio.script(*["\n\n".join(["A line of the answer."] * 30)] * 4)
    conversation = studio.server.post("/api/conversations", {}, 201)["id"]
    sent = [
        tell(studio, conversation, f"Picture {number}", a_png(1_000_000, number=number, width=400, height=300))
        for number in range(4)
    ]
    fetched, sizes = Fetched(), []
    chat.page.on("request", fetched.take)
    chat.page.on(
        "response", lambda answer: sizes.append(answer.request.sizes()) if "/api/state" in answer.url else None
    )
    await chat.go(f"/c/{conversation}")
    await expect(chat.answers).to_have_count(4)
    # Not one of them is near the end.
    assert fetched == []
    assert [(await size)["responseBodySize"] < 100_000 for size in sizes] == [True]
    held = asyncio.Event()

    async def slowly(route: Route) -> None:
        await held.wait()
        await route.continue_()

    await chat.page.route(PARTS, slowly)
    first = chat.rows("user_message").first
    async with chat.page.expect_request(PARTS):
        await first.scroll_into_view_if_needed()
    image = first.get_by_role("img")
    await expect(image).to_have_count(0)
    height = await first.evaluate("row => row.offsetHeight")
    held.set()
    await expect(image).to_be_visible()
    assert await image.evaluate("image => image.decode().then(() => [image.naturalWidth, image.width])") == [400, 220]
    assert fetched == sent[:1]
    # Its place was kept free: what comes after it stays where it was.
    assert await first.evaluate("row => row.offsetHeight") == height
    box = await image.bounding_box()
    assert box is not None
    assert (round(box["width"]), round(box["height"])) == (220, 165)
    second = chat.rows("user_message").nth(1)
    await second.scroll_into_view_if_needed()
    await expect(second.get_by_role("img")).to_be_visible()
    assert fetched == sent[:2]


async def test_a_picture_that_could_not_be_fetched_comes_when_the_server_is_back(
    chat: Chat, studio: Studio, console: Console
) -> None:
    for part in ("ERR_FAILED", "ERR_INTERNET_DISCONNECTED"):
        console.expect(part)
    conversation = studio.server.post("/api/conversations", {}, 201)["id"]
    studio.script("I see.")
    tell(studio, conversation, "Look", a_png(5_000))
    await chat.page.route(PARTS, lambda route: route.abort())
    await chat.go(f"/c/{conversation}")
    message = chat.rows("user_message").first
    await expect(message).to_contain_text("The image could not be fetched.")
    await chat.page.unroute(PARTS)
    await chat.page.context.set_offline(True)
    await expect(chat.connection).to_have_text("offline")
    await chat.page.context.set_offline(False)
    await expect(message.get_by_role("img")).to_be_visible()
    await expect(message).not_to_contain_text("could not be fetched")


async def test_pictures_that_are_too_large_together_are_told_of_before_they_are_sent(
    chat: Chat, studio: Studio, tmp_path: Path
) -> None:
    large = [tmp_path / f"{number}.png" for number in range(3)]
    for path in large:
        path.write_bytes(a_png(4_500_000))

    studio.script("I see.")
    chooser = chat.page.locator("input[type=file]")
    # What is attached one after the other counts too.
    await chooser.set_input_files(large)
    await expect(chat.page.get_by_role("button", name="Remove")).to_have_count(3)
    await chooser.set_input_files(large[:1])
    said = "The images of a message can have at most 17 MB together. Send some of them in another one."
    await expect(chat.page.get_by_text(said)).to_be_visible()
    await chat.ask("Look")
    await expect(chat.rows("user_message").get_by_role("img")).to_have_count(3)


async def test_a_picture_that_the_model_made_stands_in_its_place_in_the_answer(
    chat: Chat, studio: Studio, console: Console, tmp_path: Path
) -> None:
    """While the rest is still to come, and after; on a narrow screen its place has its shape before it is there."""
    drawn = a_png(9_000, width=800, height=600)
    (tmp_path / "drawn.png").write_bytes(drawn)
    hold = studio.hold()
    picture = {"picture": str(tmp_path / "drawn.png")}
    studio.script(["Here 🎨 it is:", picture, hold.step, "Do you *like* it?"], [picture])
    await chat.page.set_viewport_size({"width": 390, "height": 700})
    shown = asyncio.Event()

    async def slowly(route: Route) -> None:
        await shown.wait()
        await route.continue_()

    await chat.page.route(PARTS, slowly)
    await chat.send("Draw")
    figure = chat.page.get_by_role("figure")
    await expect(figure).to_have_count(1)
    await expect(chat.page.get_by_text("Here 🎨 it is:")).to_be_visible()
    empty = await figure.evaluate("figure => figure.offsetHeight")
    shown.set()
    image = figure.get_by_role("img", name="picture-1.png, made by the model")
    await expect(image).to_be_visible()
    assert await image.evaluate("image => image.decode().then(() => image.naturalWidth)") == 800
    assert abs(await figure.evaluate("figure => figure.offsetHeight") - empty) <= 2
    hold.release()
    await expect(chat.answers.first.get_by_text("Do you like it?")).to_be_visible()
    order = "answer => [...answer.querySelectorAll('p, figure')].map(each => each.tagName + ' ' + each.innerText)"
    said = await chat.answers.first.evaluate(order)
    assert [each.split()[0] for each in said] == ["P", "FIGURE", "P"]
    assert "800 × 600" in said[1]
    async with chat.page.expect_download() as saving:
        await figure.get_by_role("link", name="Save").click()
    saved = await saving.value
    assert saved.suggested_filename == "picture-1.png"
    assert (await saved.path()).read_bytes() == drawn
    # The browser's own view of a picture has styles of its own, which our policy keeps out of it.
    console.expect("Applying inline style")
    async with chat.page.expect_popup() as opening:
        await figure.get_by_role("link", name="in full size").click()
    assert (await opening.value).url.startswith("blob:")
    # An answer that is nothing else is one, too.
    await chat.ask("Another one")
    await expect(chat.answers.last.get_by_role("img")).to_be_visible()
    await expect(chat.page.get_by_text("empty answer")).to_have_count(0)
