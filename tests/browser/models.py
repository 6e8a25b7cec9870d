"""Models of a loopback server, their cards and their forms."""

from __future__ import annotations

from typing import Any

from playwright.async_api import Locator, Page, expect

from tests.browser.axe import serious_problems
from tests.browser.kept import go
from tests.support.servers import Server


def entry(address: str, **fields: Any) -> dict[str, Any]:
    """Return a model of the loopback server, as models.json has it."""
    usual = {
        "name": "Fast one",
        "provider": "openai-compatible",
        "baseUrl": f"{address}/v1",
        "apiKeySource": "",
        "model": "text-3",
        "contextWindow": 128000,
        "supportsThinking": False,
    }
    return {**usual, **fields}


def three(address: str) -> dict[str, Any]:
    """Return three models: a default, one that thinks, one that is refused."""
    models = {
        "fast": entry(address),
        "deep": entry(address, name="Deep thinker", model="tools", supportsThinking=True, contextWindow=200000),
        "refused": entry(address, name="Refused", model="status-401"),
    }
    return {"defaultModelId": "fast", "models": models}


def known(server: Server) -> list[list[Any]]:
    """Return the models that a server knows, with what tests change of them."""
    fields = ("id", "name", "isDefault", "baseUrl", "contextWindow", "supportsThinking", "toolCalls", "nativeTools")
    return [[model.get(name) for name in fields] for model in server.get("/api/state")["models"]["models"]]


def card(page: Page, name: str) -> Locator:
    """Return a model's card."""
    return page.get_by_role("listitem", name=name, exact=True)


def field(form: Locator, name: str) -> Locator:
    """Return a field of a form, one with suggestions too."""
    return form.get_by_role("textbox", name=name, exact=True).or_(form.get_by_role("combobox", name=name, exact=True))


async def choose(form: Locator, name: str, option: str) -> None:
    """Choose from a list in a form."""
    await field(form, name).click()
    await form.page.get_by_role("option", name=option).click()


async def open_models(page: Page) -> None:
    """Go to the Models tab."""
    await go(page, "/settings/models")
    await page.get_by_role("button", name="Add Model").wait_for()


async def drawn(page: Page) -> None:
    """Wait until the tab that was chosen is there, with what it shows."""
    await expect(page.get_by_role("tabpanel")).not_to_be_empty()
    await expect(page.get_by_text("Loading…")).to_have_count(0)


async def in_both_colours(page: Page) -> None:
    """Fail for what axe finds serious in light or in dark colours."""
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme)
        await expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", scheme)
        assert await serious_problems(page) == []
