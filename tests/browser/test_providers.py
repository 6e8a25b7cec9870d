"""Providers by their names, in the form that adds a model."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.async_api import Page, expect

from tests.browser.axe import serious_problems
from tests.browser.kept import go
from tests.browser.models import card, field
from tests.support.servers import Server


@pytest.mark.case("MOD-01")
async def test_a_provider_is_chosen_by_the_name_that_people_know(home: Path, page: Page) -> None:
    with Server(home) as server:
        await server.open(page, "/settings/models")
        await page.get_by_role("button", name="Add Model").click()
        form = page.get_by_role("dialog", name="Add a model")
        address = form.get_by_label("Base URL")
        await field(form, "Provider").fill("gro")
        await page.get_by_role("option", name="Groq").click()
        await expect(address).to_have_value("https://api.groq.com/openai/v1")
        await expect(form.get_by_role("link", name="console.groq.com")).to_have_attribute(
            "href", "https://console.groq.com/keys"
        )
        await field(form, "Provider").fill("bedrock")
        await page.get_by_role("option", name="Amazon Bedrock (Claude)").click()
        await expect(form.get_by_role("radio", name="AWS credentials of the server's machine")).to_be_checked()
        await form.get_by_role("textbox", name="Name").fill("On Bedrock")
        await field(form, "Model").fill("anthropic.claude-sonnet")
        await form.get_by_role("button", name="Add", exact=True).click()
        await expect(form.get_by_text("Put your own region in the place of {region}.")).to_be_visible()
        assert await serious_problems(page) == []
        await address.fill("https://bedrock-runtime.eu-west-1.amazonaws.com")
        await form.get_by_role("button", name="Add", exact=True).click()
        await expect(form).to_have_count(0)
        # The first model that is added leads to the chat.
        await expect(page.get_by_role("textbox", name="Message")).to_be_focused()
        await go(page, "/settings/models")
        await expect(card(page, "On Bedrock")).to_contain_text(
            "Signed with the AWS credentials of the server's machine"
        )

        def kept() -> tuple[str, ...]:
            entry = server.read("models.json")["models"]["on-bedrock"]
            return tuple(entry[name] for name in ("provider", "service", "apiKeySource"))

        assert kept() == ("anthropic-compatible", "bedrock-claude", "aws")
        await page.get_by_role("button", name="Edit On Bedrock").click()
        form = page.get_by_role("dialog", name="Edit On Bedrock")
        await expect(field(form, "Provider")).to_have_value("Amazon Bedrock (Claude)")
        await form.get_by_role("button", name="Save").click()
        await expect(form).to_have_count(0)
        assert kept() == ("anthropic-compatible", "bedrock-claude", "aws")
        await page.close()
