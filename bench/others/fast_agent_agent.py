"""The same conversations with fast-agent."""

import asyncio
import json
import os
import tempfile
from pathlib import Path

from measuring import MODEL, PROMPT, SERVER, URL, measure

config = {
    "default_model": f"generic.{MODEL}",
    "generic": {"api_key": "none", "base_url": URL},
    "logger": {"type": "none", "progress_display": False, "show_chat": False, "show_tools": False},
    "mcp": {"servers": {"echo": {"command": SERVER[0], "args": SERVER[1:]}}},
}
folder = Path(tempfile.mkdtemp(prefix="bench-"))
(folder / "fastagent.config.yaml").write_text(json.dumps(config))
os.chdir(folder)

from mcp_agent.core.fastagent import FastAgent  # noqa: E402
from mcp_agent.core.request_params import RequestParams  # noqa: E402

fast = FastAgent("bench", parse_cli_args=False)


@fast.agent(servers=["echo"], request_params=RequestParams(max_iterations=100, use_history=False))
async def main() -> None:
    async with fast.run() as agent:

        async def converse() -> str:
            return str(await agent.default.send(PROMPT))

        await measure(converse)


asyncio.run(main())
