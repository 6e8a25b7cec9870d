"""Consent in a real browser: what becomes of what a server is told is chosen there."""

from __future__ import annotations

from playwright.async_api import expect

from tests.browser.rooms import Rooms, command, server_of
from tests.browser.studio import Studio
from tests.support.axe import serious_problems


async def test_at_consent_a_server_is_kept_off_the_network_or_vouched_for_and_a_changed_command_asks_again(
    rooms: Rooms, own: Studio
) -> None:
    await rooms.add(command(), "Kept")
    radio = rooms.dialog.get_by_role("radio")
    start = rooms.dialog.get_by_role("button", name="Start this server")
    await expect(radio.nth(0)).to_be_checked()
    await rooms.dialog.get_by_role("radio", name="It runs without the network").check()
    await expect(rooms.dialog).to_contain_text("It has no network.")
    assert await serious_problems(rooms.page) == []
    await rooms.dialog.get_by_role("radio", name="It may send it on").check()
    await expect(rooms.dialog).not_to_contain_text("It has no network.")
    await rooms.dialog.get_by_role("radio", name="It sends nothing on").check()
    await start.click()
    await expect(rooms.chip("Kept")).to_have_attribute("data-state", "connected")
    server = server_of(own, "Kept")
    assert (server["settings"].get("cannotSend"), "sandbox" in server["settings"]) == (True, False)
    body = {"name": "Kept", "commandLine": command("--say", "more"), "cannotSend": True}
    own.server.client.put(f"/api/servers/{server['id']}", json=body).raise_for_status()
    row = await rooms.select("Kept")
    await row.get_by_role("button", name="Review and start").click()
    await expect(rooms.dialog).to_contain_text("Changed since you agreed")
    await expect(rooms.dialog.get_by_role("radio", name="It may send it on")).to_be_checked()
    await rooms.dialog.get_by_role("radio", name="It runs without the network").check()
    await expect(rooms.dialog).to_contain_text("It has no network.")
    await start.click()
    await expect(rooms.chip("Kept")).to_have_attribute("data-state", "connected")
    settings = server_of(own, "Kept")["settings"]
    assert (settings["sandbox"], settings["network"], settings.get("cannotSend")) == (True, False, None)
