"""The same conversations with pydantic-ai."""

import asyncio

from fastmcp.client.transports import StdioTransport
from measuring import MODEL, PROMPT, SERVER, URL, measure
from pydantic_ai import Agent
from pydantic_ai.mcp import MCPToolset
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.usage import UsageLimits


async def main() -> None:
    model = OpenAIChatModel(MODEL, provider=OpenAIProvider(base_url=URL, api_key="none"))
    server = MCPToolset(StdioTransport(command=SERVER[0], args=SERVER[1:]))
    agent = Agent(model, toolsets=[server])

    async def converse() -> str:
        async with agent.run_stream(PROMPT, usage_limits=UsageLimits(request_limit=None)) as run:
            return str(await run.get_output())

    async with agent:
        await measure(converse)


asyncio.run(main())
