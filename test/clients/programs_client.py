"""openai-agents with a model that writes programs, and with its experimental model of several agents."""
import asyncio

from agents import Agent, ModelSettings, OpenAIResponsesModel, ProgrammaticToolCallingTool, Runner, function_tool
from agents.extensions.experimental.hosted_multi_agent import (
    HostedMultiAgentConfig,
    OpenAIHostedMultiAgentModel,
    get_hosted_agent_metadata,
)
from agents.tool_context import ToolContext
from openai import AsyncOpenAI
from pydantic import BaseModel
from scenes import serve


class Units(BaseModel):
    units: int


def plan_tools(units, ran):
    """A tool for each row of the table, for programs alone."""

    def tool(name, of):
        @function_tool(name_override=name, allowed_callers=["programmatic"])
        def look(sku: str) -> Units:
            ran.append(f"{name} {sku}")
            return Units(units=of[sku])

        return look

    return [ProgrammaticToolCallingTool(), *(tool(name, of) for name, of in units.items())]


async def ended(agent, question, stream):
    if not stream:
        return await Runner.run(agent, question)
    result = Runner.run_streamed(agent, question)
    async for _ in result.stream_events():
        pass
    return result


async def plan(client, question, units, stream):
    ran = []
    model = OpenAIResponsesModel("m", client)
    settings = ModelSettings(tool_choice="programmatic_tool_calling")
    agent = Agent("planner", model=model, model_settings=settings, tools=plan_tools(units, ran))
    result = await ended(agent, question, stream)
    return {"ran": ran, "final": result.final_output, "items": [item.type for item in result.new_items]}


async def several(client, question, stream):
    asked = []

    @function_tool
    def ask(context: ToolContext, what: str) -> str:
        """Asks."""
        asked.append([what, get_hosted_agent_metadata(context).agent_name])
        return f"{what} is blue"

    model = OpenAIHostedMultiAgentModel("fake-model", client, config=HostedMultiAgentConfig(max_concurrent_subagents=2))
    agent = Agent("asker", instructions="Ask.", model=model, tools=[ask])
    try:
        result = await ended(agent, question, stream)
    finally:
        await model.close()
    return {"asked": asked, "final": result.final_output}


async def play(url, scene, **given):
    async with AsyncOpenAI(base_url=url, api_key="client-key", max_retries=0) as client:
        return await {"plan": plan, "several": several}[scene](client, **given)


serve(lambda **given: asyncio.run(play(**given)))
