"""The same conversations with langgraph."""

import asyncio

from langchain_mcp_adapters.sessions import create_session
from langchain_mcp_adapters.tools import load_mcp_tools
from langchain_openai import ChatOpenAI
from langgraph.prebuilt import create_react_agent
from measuring import MODEL, PROMPT, SERVER, URL, measure


async def main() -> None:
    model = ChatOpenAI(model=MODEL, base_url=URL, api_key="none", streaming=True)
    async with create_session({"transport": "stdio", "command": SERVER[0], "args": SERVER[1:]}) as session:
        await session.initialize()
        agent = create_react_agent(model, await load_mcp_tools(session))

        async def converse() -> str:
            asked = {"messages": [{"role": "user", "content": PROMPT}]}
            return str((await agent.ainvoke(asked, {"recursion_limit": 200}))["messages"][-1].content)

        await measure(converse)


asyncio.run(main())
