"""The services that search the web and make pictures: their addresses, and where a person gets a key."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec


class ServiceRow(msgspec.Struct, frozen=True):
    """One service."""

    name: str
    # Where it is asked; empty for one that everyone has for themselves.
    address: str = ""
    wants_key: bool = True
    key_page: str = ""
    # What it is asked for where the person names no model.
    model: str = ""


SEARCHES: Mapping[str, ServiceRow] = {
    "brave": ServiceRow(
        "Brave Search", "https://api.search.brave.com", key_page="https://api-dashboard.search.brave.com"
    ),
    "tavily": ServiceRow("Tavily", "https://api.tavily.com", key_page="https://app.tavily.com"),
    "exa": ServiceRow("Exa", "https://api.exa.ai", key_page="https://dashboard.exa.ai/api-keys"),
    "searxng": ServiceRow("SearXNG", wants_key=False),
}
PICTURE_MAKERS: Mapping[str, ServiceRow] = {
    "openai": ServiceRow(
        "OpenAI", "https://api.openai.com/v1", key_page="https://platform.openai.com/api-keys", model="gpt-image-1"
    ),
    "gemini": ServiceRow(
        "Google Gemini",
        "https://generativelanguage.googleapis.com/v1beta",
        key_page="https://aistudio.google.com/apikey",
        model="gemini-2.5-flash-image",
    ),
    "automatic1111": ServiceRow("Stable Diffusion web UI", "http://127.0.0.1:7860", wants_key=False),
}
