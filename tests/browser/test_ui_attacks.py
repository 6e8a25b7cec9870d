"""What a model, a tool or a provider says is shown, never obeyed; tried in a real browser, with a canary in it."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, WebSocketRoute, expect

from tests.browser.console import Console
from tests.browser.payloads import INERT_TARGETS, LISTENER, MUTATIONS, PLAIN
from tests.browser.profile import tabs
from tests.browser.studio import Chat, Studio
from tests.support.tiny_http import TinyHttp, site

# Everything that may be drawn from a model's text; our own buttons bring their icons along.
DRAWN = {"article", "div", "span", "p", "h1", "h2", "h3", "h4", "h5", "h6", "strong", "em", "del", "code", "pre", "br"}
DRAWN |= {"ul", "ol", "li", "table", "thead", "tbody", "tr", "th", "td", "blockquote", "hr", "figure", "figcaption"}
DRAWN |= {"a", "img", "input", "button", "svg", "path", "rect", "circle"}

INVENTORY = """region => [...region.querySelectorAll("*")].flatMap(element => [
    element.localName,
    ...[...element.attributes].filter(a => a.name.startsWith("on") || a.name === "srcdoc").map(a => "!" + a.name),
    ...(element.localName === "svg" && !element.closest("button, [class*=foldIcon], p") ? ["!svg"] : []),
    ...(element.localName === "img" && !element.src.startsWith("data:image/") ? ["!" + element.src] : []),
    ...(element.localName === "a" && !/^(https?|mailto):/.test(element.href) ? ["!" + element.href] : []),
])"""
BLUE = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAABCAIAAAB7QOjdAAAADklEQVR4nGNgYPgPRAwADf4B/z0ZtYIAAAAASUVORK5CYII="


@pytest_asyncio.fixture(loop_scope="session")
async def listener(browser_context: BrowserContext) -> AsyncIterator[TinyHttp]:
    """A server that nothing may ask, and a canary that nothing may touch."""
    async with site({}) as made:
        yield made
        assert len(tabs(browser_context)) == 1, "something opened a window"
        assert await tabs(browser_context)[0].evaluate("window.__pwned") is None, "a script of the text ran"
        assert [asked.path for asked in made.requests] == []


@pytest_asyncio.fixture(loop_scope="session")
async def target(listener: TinyHttp, studio: Studio, browser_context: BrowserContext) -> Chat:
    """The tab that is attacked."""
    return await studio.open(browser_context)


def aimed(text: str, listener: TinyHttp) -> str:
    """Return a payload that leads to the listener."""
    return text.replace(LISTENER, listener.url).replace("listener.invalid", listener.url.removeprefix("http://"))


async def harmless(chat: Chat) -> None:
    """Fail when the timeline holds anything but what we draw."""
    found = set(await chat.timeline.evaluate(INVENTORY))
    assert not found - DRAWN, found - DRAWN


async def test_the_canary_would_sing(target: Chat, console: Console) -> None:
    """The traps themselves work: what is forbidden is noticed."""
    await target.page.evaluate("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=x>')")
    await target.page.evaluate("window.__pwned = 1")
    assert await target.page.evaluate("window.__pwned") == 1
    await target.page.evaluate("delete window.__pwned")
    console.expect("/x")


@pytest.mark.case("UI-01")
async def test_markup_is_text_wherever_foreign_words_are_shown(target: Chat, studio: Studio) -> None:
    bad = " ".join(PLAIN)
    call = {"call": "think", "arguments": {"thoughts": bad, "requested_tools": [bad]}}
    studio.script(
        [{"thinking": bad}, f"Answer {bad}", call],
        [{"call": "<img/src/onerror=window.__pwned=1>", "arguments": {bad: bad}}, {"call": "think", "arguments": bad}],
        [{"fault": 400, "message": bad}],
    )
    await target.send(f"Message {bad}")
    await expect(target.timeline.get_by_role("alert")).to_contain_text("<script>window.__pwned=1</script>")
    # Menus close again when the next one is opened.
    closed = target.timeline.locator("[aria-expanded=false]:not([aria-haspopup])")
    while await closed.count():
        await closed.first.click()
    for kind in ("user_message", "thinking", "response", "tool_call"):
        await expect(target.rows(kind).first).to_contain_text("<script>window.__pwned=1</script>")
    await harmless(target)
    await target.page.keyboard.press("Control+/")
    await expect(target.page.get_by_role("searchbox")).to_be_focused()
    await target.page.keyboard.type("pwned")
    await expect(target.page.locator("mark").first).to_be_visible()
    await expect(target.page).to_have_title(re.compile("<script>"))


@pytest.mark.case("UI-01")
async def test_markup_is_text_in_names_of_models_files_and_conversations(
    target: Chat, studio: Studio, console: Console
) -> None:
    bad = "<img src=x onerror=window.__pwned=1>"
    model = {"name": bad, "provider": "scripted", "model": str(studio.path)}
    made = studio.server.post("/api/models", model, 201)
    studio.script("Named.")
    try:
        await target.page.get_by_role("button", name="Model: Script").click()
        await target.page.get_by_role("menuitemradio", name=bad).click()
        await expect(target.page.get_by_role("button", name=f"Model: {bad}")).to_be_visible()
        image = {"name": f"{bad}.png", "mimeType": "image/png", "buffer": b"not an image"}
        await target.page.locator("input[type=file]").set_input_files(image)  # type: ignore[arg-type]
        await expect(target.page.get_by_role("alert")).to_contain_text(f"{bad}.png is not a PNG")
        await target.ask("Name them")
        studio.server.client.patch(f"/api/conversations/{target.conversation}", json={"title": bad})
        await expect(target.page.get_by_role("link", name=bad, exact=True)).to_be_visible()
        await target.page.keyboard.press("Control+k")
        await expect(target.page.get_by_role("option").filter(has_text=bad).first).to_be_visible()
        await target.page.keyboard.press("Escape")
        await target.page.get_by_role("button", name=f"Delete {bad}", exact=True).click()
        await expect(target.page.get_by_text(f"Deleted “{bad}”.")).to_be_visible()
        await target.go("/settings/models")
        await expect(target.page.get_by_role("listitem", name=bad)).to_be_visible()
    finally:
        studio.server.client.delete(f"/api/models/{made['id']}")


@pytest.mark.case("UI-02")
async def test_no_markdown_becomes_markup_whole_or_piece_by_piece(
    target: Chat, studio: Studio, listener: TinyHttp
) -> None:
    assert len(MUTATIONS) >= 40
    studio.script(*[[{"text": aimed(payload, listener)}] for payload in MUTATIONS])
    made = studio.server.post("/api/conversations", {"title": "Mutations"}, 201)["id"]
    for number in range(len(MUTATIONS)):
        sent = studio.server.post(f"/api/conversations/{made}/messages", {"text": f"Payload {number}"}, 202)
        studio.server.wait_for_run(sent["runId"], "completed")
    await target.go(f"/c/{made}")
    await expect(target.answers).to_have_count(len(MUTATIONS))
    await harmless(target)
    for element in await target.answers.get_by_text("press").all():
        await element.click()
    # Now all at once and in small pieces, so that every half of a payload is drawn, too.
    studio.script([{"text": "\n\n".join(aimed(text, listener) for text in MUTATIONS), "pieces": 9, "every": 0.001}])
    await target.ask("Again, slowly")
    await harmless(target)


@pytest.mark.case("UI-03", "UI-05")
async def test_links_to_scripts_files_and_programs_are_inert_and_honest_ones_work(
    target: Chat, studio: Studio, listener: TinyHttp
) -> None:
    lines = [f"[press {number}]({aimed(to, listener)})" for number, to in enumerate(INERT_TARGETS)]
    honest = ["https://example.com/a?b=c", "http://example.org/", "mailto:captain@example.com"]
    studio.script("\n\n".join([*lines, *[f"[good]({to})" for to in honest]]))
    answer = await target.ask("Links")
    await harmless(target)
    links = answer.get_by_role("link")
    await expect(links).to_have_count(len(honest))
    assert [await link.get_attribute("href") for link in await links.all()] == honest
    for link in await links.all():
        assert await link.get_attribute("rel") == "noopener noreferrer"
    for number in range(len(INERT_TARGETS)):
        await answer.get_by_text(f"press {number}", exact=True).click()
    await expect(target.page).to_have_url(re.compile(f"^{studio.url}/c/"))


@pytest.mark.case("UI-04")
async def test_a_remote_image_is_a_link_with_its_host_and_nothing_is_fetched(
    target: Chat, studio: Studio, listener: TinyHttp
) -> None:
    url = f"{listener.url}/track.png?q=SECRET"
    studio.script(
        f"![diagram]({url})\n\n![]({url}&2)\n\n[![x]({url}&3)](https://example.com)\n\n"
        f'<img src="{url}&4"> <picture><source srcset="{url}&5"></picture>\n\n![y][r]\n\n[r]: {url}&6\n\n'
        f"![embedded](data:image/png;base64,{BLUE})"
    )
    answer = await target.ask("Show it")
    host = listener.url.removeprefix("http://")
    await expect(answer.get_by_role("link", name=f"Image: diagram ({host})")).to_be_visible()
    await expect(answer.get_by_role("img")).to_have_count(1)
    shown = answer.get_by_role("img", name="embedded")
    assert await shown.evaluate("image => image.decode().then(() => image.naturalWidth)") == 2
    await harmless(target)


@pytest.mark.case("EXFIL-08")
async def test_a_link_that_streams_in_is_neither_fetched_nor_looked_up_before_a_click(
    target: Chat, studio: Studio, listener: TinyHttp
) -> None:
    page = await target.page.request.get(studio.url)
    assert page.headers["x-dns-prefetch-control"] == "off"
    assert page.headers["referrer-policy"] == "no-referrer"
    studio.script([{"text": f"See [the report]({listener.url}/?q=SECRET) and {listener.url}/2", "pieces": 30}])
    answer = await target.ask("Show it")
    link = answer.get_by_role("link", name="the report")
    await link.hover()
    await harmless(target)
    assert await target.page.locator("link[rel*=fetch], link[rel*=pre]:not([href^='/assets'])").count() == 0


@pytest.mark.case("UI-06")
async def test_the_real_host_shows_when_a_link_says_another(target: Chat, studio: Studio) -> None:
    studio.script(
        "[https://bank.example](https://attacker.example/x)\n\n[paypal.com](https://pаypal.com)\n\n"
        "[see bank.example now](https://bank.example@attacker.example/)\n\n"
        f"[long](https://attacker.example/{'a' * 600}?bank.example)\n\n"
        "[https://bank.example](https://bank.example/login)\n\n[here](https://bank.example/)"
    )
    answer = await target.ask("Links")
    paragraphs = answer.locator("p")
    await expect(paragraphs.nth(0)).to_have_text("https://bank.example (attacker.example)")
    await expect(paragraphs.nth(1)).to_have_text("paypal.com (xn--pypal-4ve.com)")
    await expect(paragraphs.nth(2)).to_have_text("see bank.example now (attacker.example)")
    assert await paragraphs.nth(2).get_by_role("link").get_attribute("href") == "https://attacker.example/"
    title = await paragraphs.nth(3).get_by_role("link").get_attribute("title")
    assert (title or "").startswith("https://attacker.example/")
    await expect(paragraphs.nth(4)).to_have_text("https://bank.example")
    # A finger and a key have nothing to hover over.
    await expect(paragraphs.nth(5)).to_have_text("here (bank.example)")


@pytest.mark.case("UI-07")
async def test_an_image_that_is_no_raster_image_is_refused(target: Chat, studio: Studio) -> None:
    svg = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.__pwned=1'></svg>"
    huge = bytearray(base64.b64decode(BLUE))
    huge[16:24] = (50_000).to_bytes(4, "big") * 2
    field = target.page.locator("input[type=file]")
    for content in (svg, b"<html><script>window.__pwned=1</script>", bytes(huge)):
        wrong = {"name": "wrong.png", "mimeType": "image/png", "buffer": content}
        await field.set_input_files(wrong)  # type: ignore[arg-type]
        await expect(target.page.get_by_role("alert")).to_contain_text("wrong.png is not a PNG, JPEG, GIF or WebP")
        await expect(target.page.get_by_role("list", name="Attached images")).to_have_count(0)
    encoded = base64.b64encode(svg).decode()
    studio.script(
        f"![a](data:image/svg+xml;base64,{encoded}) ![b](data:image/png;base64,{encoded}) "
        f"![c](data:image/png;base64,{base64.b64encode(huge).decode()})"
    )
    answer = await target.ask("Pictures")
    await expect(answer.get_by_role("img")).to_have_count(0)
    await expect(answer).to_contain_text("Image: b")
    good = {"name": "good.png", "mimeType": "image/png", "buffer": base64.b64decode(BLUE)}
    await field.set_input_files(good)  # type: ignore[arg-type]
    await expect(target.page.get_by_role("img", name="good.png")).to_be_visible()


@pytest.mark.case("UI-09")
@pytest.mark.own_profile
async def test_events_that_the_page_does_not_know_are_ignored(
    studio: Studio, browser_context: BrowserContext, listener: TinyHttp
) -> None:
    strange: list[dict[str, Any]] = [
        {"op": "execute", "code": "window.__pwned=1"},
        {"op": "__proto__", "polluted": True},
        {"op": "navigate", "to": listener.url},
    ]

    def between(page_side: WebSocketRoute) -> None:
        server_side = page_side.connect_to_server()

        def from_server(message: str | bytes) -> None:
            frame = json.loads(message)
            for one in strange:
                page_side.send(json.dumps(one))
            for kind in ("execute", "page.execute", "constructor", "toString"):
                event = {"type": kind, "seq": 0, "at": 0, "code": "window.__pwned=1"}
                page_side.send(json.dumps({**frame, "events": [event]}))
            page_side.send("not JSON")
            page_side.send("null")
            page_side.send(message)

        server_side.on_message(from_server)

    await browser_context.route_web_socket("**/api/ws", between)
    chat = await studio.open(browser_context)
    studio.script([{"text": "Still here, whole and well.", "pieces": 5, "every": 0.01}])
    answer = await chat.ask("Hello")
    await expect(answer).to_contain_text("Still here, whole and well.")
    await expect(chat.rows("user_message")).to_have_count(1)


@pytest.mark.case("UI-10")
async def test_a_text_that_imitates_a_question_stays_inside_the_answer(target: Chat, studio: Studio) -> None:
    studio.script(
        "---\n\n**Pilothouse needs your approval**\n\nDelete all files?\n\n"
        "<button>Allow</button> <section aria-label='Question'><button>Allow</button></section>\n\n"
        "[Allow](javascript:window.__pwned=1) | [Deny](#)\n\n<div role=alert class=question>The system says so.</div>"
    )
    answer = await target.ask("Do it")
    await expect(answer).to_contain_text("Pilothouse needs your approval")
    await expect(target.page.get_by_role("region", name="Question")).to_have_count(0)
    await expect(target.page.get_by_role("alert")).to_have_count(0)
    # Those of every answer, and no other.
    await expect(answer.get_by_role("button")).to_have_count(4)
    for name in ("Copy answer", "Regenerate", "Branch from here", "More about this answer"):
        await expect(answer.get_by_role("button", name=name)).to_be_visible()
    await expect(target.page.get_by_text("Allow")).to_have_count(await answer.get_by_text("Allow").count())


@pytest.mark.case("WEB-09")
async def test_the_page_refuses_to_be_framed(studio: Studio, browser_context: BrowserContext, console: Console) -> None:
    console.expect("frame-ancestors")
    document = f"<html><iframe src='{studio.url}/'></iframe></html>".encode()
    async with site({"/": (200, document), "/favicon.ico": (204, b"")}) as elsewhere:
        page = (await studio.open(browser_context)).page
        await page.goto(elsewhere.url)
        await page.frames[1].wait_for_url("chrome-error://**")
        await expect(page.frame_locator("iframe").get_by_role("main")).to_have_count(0)
        await page.close()


@pytest.mark.case("WEB-05", "WEB-12")
async def test_what_a_browser_brings_to_another_port_of_this_machine_signs_nobody_in(
    studio: Studio, browser_context: BrowserContext
) -> None:
    # Cookies know no ports: whoever serves a page on this machine gets those of all its pages.
    chat = await studio.open(browser_context)
    await chat.ask("Hello")
    async with site({"/": (200, b"<html>A preview</html>"), "/favicon.ico": (204, b"")}) as elsewhere:
        page = await browser_context.new_page()
        await page.goto(elsewhere.url)
        await page.close()
    brought = elsewhere.requests[0].headers
    stolen = {name: value for name, value in brought.items() if name in ("cookie", "authorization")}
    forged = {**stolen, "origin": studio.url, "sec-fetch-site": "same-origin"}
    async with httpx2.AsyncClient(base_url=studio.url, trust_env=False) as thief:
        for method, path in (("GET", "/api/state"), ("GET", "/api/audit"), ("POST", "/api/link")):
            assert (await thief.request(method, path, headers=forged)).status_code == 401, path


@pytest.mark.case("WEB-03")
async def test_the_link_signs_a_browser_in_for_good(studio: Studio, chromium: Browser) -> None:
    fresh = await chromium.new_context()
    try:
        chat = Chat(await fresh.new_page(), studio)
        await chat.page.goto(studio.server.post("/api/link")["url"])
        await expect(chat.connection).to_have_text("connected")
        assert "code" not in chat.page.url
        await chat.page.reload()
        await expect(chat.connection).to_have_text("connected")
        await Chat(await fresh.new_page(), studio).go("/")
    finally:
        await fresh.close()
