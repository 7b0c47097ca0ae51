"""Agents of openai-agents, each with the tools that a scene names; they run commands and change files in the scene's folder."""
import asyncio
import logging
import pathlib

from agents import (
    Agent,
    ApplyPatchResult,
    ApplyPatchTool,
    CodeInterpreterTool,
    FileSearchTool,
    HostedMCPTool,
    ImageGenerationTool,
    LocalShellTool,
    OpenAIResponsesModel,
    Runner,
    ShellCallOutcome,
    ShellCommandOutput,
    ShellResult,
    ShellTool,
    WebSearchTool,
    apply_diff,
)
from openai import AsyncOpenAI
from scenes import run_command, serve


class Editor:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def create_file(self, operation):
        (self.folder / operation.path).write_text(apply_diff("", operation.diff, "create"))

    def update_file(self, operation):
        path = self.folder / operation.path
        path.write_text(apply_diff(path.read_text(), operation.diff))
        return ApplyPatchResult(status="completed", output=f"Changed {operation.path}.")

    def delete_file(self, operation):
        (self.folder / operation.path).unlink()


def shell(folder):
    def run(request):
        output = []
        for command in request.data.action.commands:
            stdout, stderr, code = run_command(command, folder)
            output.append(ShellCommandOutput(stdout, stderr, ShellCallOutcome(type="exit", exit_code=code)))
        return ShellResult(output)

    return ShellTool(executor=run)


def local_shell(folder):
    return LocalShellTool(executor=lambda request: run_command(request.data.action.command, folder)[0])


def tools_for(tools, folder, approve):
    made = {
        "web_search": lambda **options: WebSearchTool(**options),
        "file_search": lambda **options: FileSearchTool(**options),
        "image_generation": lambda **options: ImageGenerationTool({"type": "image_generation", **options}),
        "mcp": lambda **options: HostedMCPTool(
            {"type": "mcp", **options},
            on_approval_request=None if approve is None else lambda request: {"approve": approve},
        ),
        "code_interpreter": lambda **options: CodeInterpreterTool({"type": "code_interpreter", **options}),
        "shell": lambda **options: ShellTool(**options) if options else shell(folder),
        "local_shell": lambda: local_shell(folder),
        "apply_patch": lambda: ApplyPatchTool(editor=Editor(folder)),
    }
    return [made[name](**options) for name, options in tools.items()]


async def ended(agent, given, stream, events, **more):
    if not stream:
        return await Runner.run(agent, given, **more)
    result = Runner.run_streamed(agent, given, **more)
    async for event in result.stream_events():
        if event.type == "raw_response_event":
            events.append(event.data.type)
    return result


async def talk(url, tools, inputs, stream=False, folder=".", approve=None, decide=None, chained=False):
    """Asks one question after the other; `approve` answers approvals in a callback, `decide` those that interrupt the run.

    What was said before is sent again, or, `chained`, the id of the last response.
    """
    async with AsyncOpenAI(base_url=url, api_key="client-key", max_retries=0) as client:
        model = OpenAIResponsesModel("m", client)
        agent = Agent("a", model=model, tools=tools_for(tools, folder, approve))
        history, last, texts, items, events, waited = [], None, [], [], [], 0
        for content in inputs:
            given = [*history, {"role": "user", "content": content}]
            more = {"auto_previous_response_id": True, "previous_response_id": last} if chained else {}
            result = await ended(agent, given, stream, events, **more)
            if result.interruptions:
                waited += len(result.interruptions)
                state = result.to_state()
                for each in result.interruptions:
                    (state.approve if decide else state.reject)(each)
                result = await ended(agent, state, stream, events)
            history, last = [] if chained else result.to_input_list(), result.last_response_id
            texts.append(result.final_output)
            items.append([item.type for item in result.new_items])
        return {"texts": texts, "items": items, "events": events, "waited": waited, "history": history, "id": last}


# It logs patches that fail.
logging.getLogger("openai.agents").setLevel(logging.CRITICAL)
serve(lambda **scene: asyncio.run(talk(**scene)))
