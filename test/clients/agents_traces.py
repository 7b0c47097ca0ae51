"""A run of OpenAI's agents SDK with a tool, whose trace its own exporter sends; prints what the run came to."""

import json
import os

from agents import Agent, OpenAIProvider, RunConfig, Runner, function_tool, set_trace_processors
from agents.tracing.processors import BackendSpanExporter, BatchTraceProcessor

base_url = os.environ["BASE_URL"]
api_key = os.environ["API_KEY"]
processor = BatchTraceProcessor(BackendSpanExporter(api_key=api_key, endpoint=f"{base_url}/traces/ingest"))
set_trace_processors([processor])


@function_tool
def look() -> str:
    """Looks."""
    return "a tree"


agent = Agent(name="looker", instructions="Look.", model="fake-model", tools=[look])
provider = OpenAIProvider(api_key=api_key, base_url=base_url, use_responses=True)
config = RunConfig(model_provider=provider, workflow_name="Looking")
result = Runner.run_sync(agent, "What is there?", run_config=config)
processor.shutdown()
print(json.dumps(result.final_output))
