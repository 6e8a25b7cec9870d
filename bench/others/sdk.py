"""A minimal agent loop on the official openai and mcp SDKs."""

import asyncio
import json

from mcp import Client, StdioServerParameters
from measuring import MODEL, PROMPT, SERVER, URL, measure
from openai import AsyncOpenAI


async def answer(client: AsyncOpenAI, messages: list, tools: list) -> tuple[str, list]:
    """Stream one answer; return its text and its calls."""
    said, calls = [], {}
    stream = await client.chat.completions.create(model=MODEL, messages=messages, tools=tools, stream=True)
    async for chunk in stream:
        for choice in chunk.choices:
            said.append(choice.delta.content or "")
            for call in choice.delta.tool_calls or ():
                kept = calls.setdefault(call.index, {"id": call.id, "name": call.function.name, "arguments": ""})
                kept["arguments"] += call.function.arguments or ""
    return "".join(said), list(calls.values())


async def main() -> None:
    client = AsyncOpenAI(base_url=URL, api_key="none")
    async with Client(StdioServerParameters(command=SERVER[0], args=SERVER[1:]), mode="legacy") as server:
        listed = (await server.list_tools()).tools
        tools = [
            {
                "type": "function",
                "function": {"name": tool.name, "description": tool.description, "parameters": tool.input_schema},
            }
            for tool in listed
        ]

        async def call(wanted: dict) -> dict:
            result = await server.call_tool(wanted["name"], json.loads(wanted["arguments"]))
            return {"role": "tool", "tool_call_id": wanted["id"], "content": result.content[0].text}

        async def converse() -> str:
            messages: list = [{"role": "user", "content": PROMPT}]
            while True:
                said, calls = await answer(client, messages, tools)
                if not calls:
                    return said
                asked = [
                    {"id": c["id"], "type": "function", "function": {"name": c["name"], "arguments": c["arguments"]}}
                    for c in calls
                ]
                messages.append({"role": "assistant", "content": said or None, "tool_calls": asked})
                messages += await asyncio.gather(*(call(wanted) for wanted in calls))

        await measure(converse)


asyncio.run(main())
