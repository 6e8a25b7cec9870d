"""Events in a browser's own reader of them."""

from __future__ import annotations

import pytest

from tests.browser.studio import Chat, Studio

READ = """path => new Promise((resolve, reject) => {
  const half = encodeURIComponent(localStorage.getItem("pilothouse.half"));
  const source = new EventSource(`${path}?half=${half}`), kinds = [];
  const hear = event => {
    kinds.push(JSON.parse(event.data).type);
    if (kinds.length >= 2) { source.close(); resolve(kinds); }
  };
  source.onmessage = hear;
  for (const kind of ["item.created", "run.updated"]) source.addEventListener(kind, hear);
  source.onerror = () => { source.close(); reject(new Error("the stream broke")); };
})"""


@pytest.mark.case("TRN-31")
async def test_a_browsers_own_event_source_reads_a_conversation(studio: Studio, chat: Chat) -> None:
    conversation = studio.server.post("/api/conversations", {"title": "Events"}, 201)["id"]
    studio.server.post(f"/api/conversations/{conversation}/messages", {"text": "Go"}, 202)
    kinds = await chat.page.evaluate(READ, f"/api/conversations/{conversation}/events")
    assert len(kinds) == 2
    assert all(kinds)
