"""What the same stream costs others, in a process of its own: `floor.py HOW URL MODEL` prints the seconds of CPU.

    raw     httpx2 reads the bytes
    json    httpx2 reads the bytes, which are cut into lines and decoded with the standard library
    sdk     the official SDK streams, and the pieces are joined

Imports nothing of ours: the SDK has an environment of its own.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable, Coroutine
from time import process_time
from typing import Any

BODY = {"stream": True, "stream_options": {"include_usage": True}, "messages": [{"role": "user", "content": "Go."}]}


async def raw(url: str, model: str) -> float:
    import httpx2

    async with httpx2.AsyncClient(trust_env=False, timeout=None) as client:
        before, size = process_time(), 0
        async with client.stream("POST", f"{url}/v1/chat/completions", json={"model": model, **BODY}) as response:
            async for chunk in response.aiter_bytes():
                size += len(chunk)
        assert size
        return process_time() - before


async def decoded(url: str, model: str) -> float:
    import httpx2

    async with httpx2.AsyncClient(trust_env=False, timeout=None) as client:
        before, pieces, rest = process_time(), [], b""
        async with client.stream("POST", f"{url}/v1/chat/completions", json={"model": model, **BODY}) as response:
            async for chunk in response.aiter_bytes():
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    if line.startswith(b"data: {"):
                        for choice in json.loads(line[6:])["choices"]:
                            pieces.append(choice["delta"].get("content", ""))
        assert "".join(pieces)
        return process_time() - before


async def sdk(url: str, model: str) -> float:
    import openai

    async with openai.AsyncOpenAI(base_url=f"{url}/v1", api_key="none") as client:
        messages: Any = BODY["messages"]
        before, pieces = process_time(), []
        stream = await client.chat.completions.create(model=model, messages=messages, stream=True)
        async for chunk in stream:
            if chunk.choices and chunk.choices[0].delta.content:
                pieces.append(chunk.choices[0].delta.content)
        assert "".join(pieces)
        return process_time() - before


def fast_loop() -> Callable[[], asyncio.AbstractEventLoop] | None:
    """Return the loop that Pilothouse serves on, where it is installed."""
    try:
        import uvloop
    except ImportError:
        return None
    return uvloop.new_event_loop


HOW: dict[str, Callable[[str, str], Coroutine[Any, Any, float]]] = {"raw": raw, "json": decoded, "sdk": sdk}

if __name__ == "__main__":
    how, url, model = sys.argv[1:]
    with asyncio.Runner(loop_factory=fast_loop()) as runner:
        print(runner.run(HOW[how](url, model)))
