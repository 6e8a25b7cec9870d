"""The same conversations with openai-agents."""

import asyncio

from agents import Agent, OpenAIChatCompletionsModel, Runner, set_tracing_disabled
from agents.mcp import MCPServerStdio
from measuring import MODEL, PROMPT, SERVER, URL, measure
from openai import AsyncOpenAI

set_tracing_disabled(True)


async def main() -> None:
    client = AsyncOpenAI(base_url=URL, api_key="none")
    params = {"command": SERVER[0], "args": SERVER[1:]}
    async with MCPServerStdio(params=params, cache_tools_list=True) as server:
        model = OpenAIChatCompletionsModel(model=MODEL, openai_client=client)
        agent = Agent(name="bench", model=model, mcp_servers=[server])

        async def converse() -> str:
            run = Runner.run_streamed(agent, PROMPT, max_turns=100)
            async for _ in run.stream_events():
                pass
            return str(run.final_output)

        await measure(converse)


asyncio.run(main())
