"""Events in a browser's own reader of them."""

from __future__ import annotations

import pytest
from playwright.async_api import Route

from pilothouse.types.runs import ENDED
from tests.browser.studio import Chat, Studio
from tests.support.waiting import eventually

# Keeps the number of each event that has one.
READ = """path => {
  const half = encodeURIComponent(localStorage.getItem("pilothouse.half"));
  const source = new EventSource(`${path}?half=${half}`);
  window.numbers = [];
  const hear = ({ data }) => { const { seq } = JSON.parse(data); if (seq) window.numbers.push(seq) };
  const kinds = ["item.created", "item.delta", "item.updated", "item.completed", "run.updated", "conversation.updated"];
  for (const kind of kinds) source.addEventListener(kind, hear);
}"""


@pytest.mark.case("TRN-31")
async def test_a_browsers_own_event_source_reads_a_conversation_and_goes_on_where_it_broke(
    studio: Studio, chat: Chat
) -> None:
    path = f"/api/conversations/{studio.server.post('/api/conversations', {'title': 'Events'}, 201)['id']}"

    async def answered() -> int:
        now = studio.server.get(path)
        return now["lastSeq"] if all(run["status"] in ENDED for run in now["runs"]) else 0

    async def said(text: str) -> int:
        studio.server.post(f"{path}/messages", {"text": text}, 202)
        return await eventually(answered, "the answer")

    async def broken(route: Route) -> None:
        """Give all that the server sends of the first message, and no more."""
        body = b""
        with studio.server.client.stream("GET", f"{path}/events") as stream:
            for piece in stream.iter_bytes():
                body += piece
                if b"id: %d\n" % first in body and body.endswith(b"\n\n"):
                    break
        await route.fulfill(content_type="text/event-stream", body=body)

    async def heard(last: int) -> bool:
        return bool(await chat.page.evaluate("window.numbers") == [*range(1, last + 1)])

    first = await said("One")
    await chat.page.route(f"**{path}/events?*", broken, times=1)
    await chat.page.evaluate(READ, f"{path}/events")
    await eventually(lambda: heard(first), "each event of the first message")
    last = await said("Two")
    assert last > first
    await eventually(lambda: heard(last), "what came meanwhile, and nothing twice")
