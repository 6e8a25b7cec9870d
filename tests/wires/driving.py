"""Plays scenarios through the library: one host, all conversations side by side."""

from __future__ import annotations

import asyncio
import json
from base64 import b64decode
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from pilothouse import Chat, Host, ImageInput, PilothouseError
from pilothouse.types.selection import Selection
from tests.wires.endpoint import Provider
from tests.wires.replies import PROVIDERS
from tests.wires.scenario import PICTURE, Fails, Outcome, Scenario

KEY = "sk-test-0123456789abcdef"
# So many at once: those that wait for a moment to ask again wait together.
AT_ONCE = 64
# A turn takes milliseconds, or a few seconds of waiting where the provider asks for that.
PATIENCE = 60.0


def play(scenarios: Iterable[Scenario], home: Path) -> dict[str, Outcome]:
    """Play scenarios and return what came of each."""
    chosen = list(scenarios)
    return asyncio.run(_play(chosen, home))


async def _play(scenarios: list[Scenario], home: Path) -> dict[str, Outcome]:
    async with Provider({one.name: one.answers for one in scenarios}) as provider:
        return await converse(scenarios, home, provider, provider.url_of)


async def converse(
    scenarios: list[Scenario], home: Path, provider: Provider, place: Callable[[str], str]
) -> dict[str, Outcome]:
    """Hold all conversations with a provider, each at its place."""
    configure(home, {one.name: configured(one, place(one.name)) for one in scenarios})
    turn, folder = asyncio.Semaphore(AT_ONCE), _work(home.parent / "work")
    async with Host(home) as host:
        played = await asyncio.gather(*(_converse(host, provider, one, turn, folder) for one in scenarios))
    return dict(played)


def configure(home: Path, models: dict[str, dict[str, object]]) -> None:
    """Make a home that has these models."""
    home.mkdir()
    (home / "models.json").write_text(json.dumps({"models": models}))


def _work(folder: Path) -> Path:
    """Make a folder with a picture."""
    folder.mkdir()
    (folder / "picture.png").write_bytes(b64decode(PICTURE))
    return folder


def configured(scenario: Scenario, url: str) -> dict[str, object]:
    """Return the model's entry in the file."""
    return {
        "name": scenario.name,
        "provider": PROVIDERS[scenario.wire],
        "model": "m",
        "baseUrl": url,
        "apiKeySource": KEY,
        "contextWindow": 100_000,
        "supportsThinking": True,
        "supportsImages": True,
        **scenario.model,
    }


async def _converse(
    host: Host, provider: Provider, scenario: Scenario, turn: asyncio.Semaphore, folder: Path
) -> tuple[str, Outcome]:
    async with turn:
        # A title of its own, so that nobody asks the model for one.
        chat = await host.start(model=scenario.name, system="Be brief.", title=scenario.name)
        settings = (await chat.info()).settings
        chosen = msgspec.structs.replace(
            settings, mode="auto_approve", thinking=scenario.thinking, temperature=scenario.temperature
        )
        if scenario.folder:
            chosen = msgspec.structs.replace(chosen, working_directory=str(folder))
        if scenario.native:
            chosen = msgspec.structs.replace(chosen, selection=Selection(native_tools=scenario.native))
        await chat.update(settings=chosen)
        turns = [
            await said(chat, f"Turn {number}", scenario.picture and not number) for number in range(len(scenario.gives))
        ]
        return scenario.name, Outcome(tuple(turns), await chat.items(), provider.asked(scenario.name))


async def said(chat: Chat, words: str, picture: bool = False, model: str | None = None) -> str | Fails:
    """Say something and return the answer, or why there is none."""
    images = [ImageInput(media_type="image/png", data=PICTURE)] if picture else []
    async with asyncio.timeout(PATIENCE):
        answer = await chat.send(words, images=images, model=model)
        try:
            return await answer.text()
        except PilothouseError as error:
            return Fails(error.code, error.message)
