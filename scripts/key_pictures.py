"""The pictures of keys and of signing in: the form that asks for a key, what a check found, and where one leaves to."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path

from playwright.async_api import expect

from scripts.server_pictures import PYTHON, tool, write_server
from tests.browser.issuing import sites
from tests.browser.rooms import Rooms
from tests.browser.studio import Chat

Keep = Callable[[Chat, str], Awaitable[None]]
Size = tuple[int, int]

REPOSITORY = {"type": "string", "description": "owner/name"}
TOOLS = (
    tool("search_issues", "Finds issues by their words, newest first.", {"repository": REPOSITORY}, ("repository",)),
    tool("read_issue", "Returns one issue with what was said about it.", {"number": {"type": "integer"}}, ("number",)),
    tool("list_branches", "Lists the branches of a repository.", {"repository": REPOSITORY}, ("repository",)),
)


def wanting(folder: Path) -> str:
    """Write a server that ends without its key, and return the command that starts it."""
    write_server(folder, "github", TOOLS)
    program = folder / "github.py"
    asking = "import os, sys\nif not os.environ.get('GITHUB_TOKEN'):\n    sys.exit('GITHUB_TOKEN is required')\n"
    program.write_text(asking + program.read_text(encoding="utf-8"), encoding="utf-8")
    return f"{PYTHON} {program}"


async def resized(chat: Chat, keep: Keep, name: str, size: Size) -> None:
    """Take a picture in a window of another size, and go back."""
    before = chat.page.viewport_size
    await chat.page.set_viewport_size({"width": size[0], "height": size[1]})
    await keep(chat, name)
    assert before is not None
    await chat.page.set_viewport_size(before)


async def take(chat: Chat, folder: Path, keep: Keep, sizes: dict[str, Size]) -> None:
    """Take all pictures of keys and of signing in."""
    rooms = Rooms(chat.page, chat.studio)
    await keys(rooms, chat, keep, folder, sizes)
    await sign_in(rooms, chat, keep, sizes)
    for server in chat.studio.server.get("/api/servers")["servers"]:
        chat.studio.server.client.delete(f"/api/servers/{server['id']}")


async def dark(chat: Chat, keep: Keep, name: str) -> None:
    """Take a picture in the dark."""
    await chat.page.emulate_media(color_scheme="dark")
    await keep(chat, name)
    await chat.page.emulate_media(color_scheme="light")


async def keys(rooms: Rooms, chat: Chat, keep: Keep, folder: Path, sizes: dict[str, Size]) -> None:
    """Check a server that lacks a key, give it, and show what it offers then."""
    await rooms.settings()
    await rooms.by_hand()
    form = rooms.dialog
    await form.get_by_label("Command or address").fill(wanting(folder))
    await form.get_by_role("textbox", name="Name", exact=True).fill("GitHub")
    await form.get_by_role("button", name="Check", exact=True).click()
    await form.get_by_role("button", name="Start once").click()
    field = form.get_by_label("GitHub token", exact=True)
    await expect(field).to_be_focused()
    await keep(chat, "keys")
    await dark(chat, keep, "keys-dark")
    for name, size in sizes.items():
        await resized(chat, keep, f"keys-{name}", size)
    await field.fill("made-up-for-a-picture")
    await form.get_by_role("button", name="Check", exact=True).click()
    await expect(form).to_contain_text("It works")
    await form.get_by_text("search_issues").click()
    await chat.page.evaluate("document.activeElement.blur()")
    await keep(chat, "keys-checked")
    await form.get_by_role("button", name="Cancel").click()
    await expect(form).to_have_count(0)


async def sign_in(rooms: Rooms, chat: Chat, keep: Keep, sizes: dict[str, Size]) -> None:
    """Add a server that wants a sign-in, and show where one would leave to."""
    async with sites() as place:
        await rooms.add(place.server.mcp, "Issues")
        await rooms.row("Issues").get_by_role("button", name="Sign in to Issues").click()
        await expect(rooms.dialog.get_by_role("link", name="Continue to")).to_be_visible()
        await chat.page.evaluate("document.activeElement.blur()")
        await keep(chat, "sign-in")
        await dark(chat, keep, "sign-in-dark")
        for name, size in sizes.items():
            await resized(chat, keep, f"sign-in-{name}", size)
        await rooms.dialog.get_by_role("button", name="Cancel").click()
        server = chat.studio.server.get("/api/servers")["servers"][0]
        chat.studio.server.client.delete(f"/api/servers/{server['id']}")
        await expect(rooms.row("Issues")).to_have_count(0)
