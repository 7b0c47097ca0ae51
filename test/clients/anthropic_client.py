"""Anthropic's SDK for Python, whose answers must be of its own types to the letter."""
import anthropic
from scenes import serve

QUESTION = {"model": "m", "max_tokens": 4096, "messages": [{"role": "user", "content": "Go."}]}


def client(url):
    return anthropic.Anthropic(base_url=url.removesuffix("/v1"), api_key="client-key", max_retries=0)


def checked(model):
    """Having read it again: the SDK takes whatever comes, and its types do not."""
    type(model).model_validate(model.to_dict(mode="json", warnings=False))
    return model


def stream(url):
    events = []
    with client(url).messages.stream(**QUESTION) as opened:
        for event in opened:
            events.append(event.type)
        message = checked(opened.get_final_message())
    return {
        "events": events,
        "content": [block.to_dict() for block in message.content],
        "stop": message.stop_reason,
        "usage": [message.usage.input_tokens, message.usage.output_tokens],
    }


def create(url):
    """MCP is in the types of the beta alone."""
    message = checked(client(url).beta.messages.create(**QUESTION))
    return {"content": [block.to_dict() for block in message.content]}


def use_server_tools(url):
    tools = [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_fetch_20250910", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"},
    ]
    own, texts = client(url), []
    history = list(QUESTION["messages"])
    for _ in range(2):
        message = checked(own.messages.create(**{**QUESTION, "messages": history}, tools=tools))
        history += [{"role": "assistant", "content": message.content}, {"role": "user", "content": "And?"}]
        texts.append([block.type for block in message.content])
    return {"texts": texts}


def run_tools(url):
    seen = []

    @anthropic.beta_tool
    def look(at: str) -> str:
        """Looks.

        Args:
            at: What to look at.
        """
        seen.append(at)
        return "A cat."

    runner = client(url).beta.messages.tool_runner(**QUESTION, tools=[look])
    last = runner.until_done()
    return {"seen": seen, "text": last.content[-1].text}


def fail(url):
    own = client(url)
    try:
        own.messages.create(**{**QUESTION, "max_tokens": 0})
    except anthropic.BadRequestError as error:
        refused = [error.status_code, error.body["error"]["type"], error.request_id is not None]
    models = [checked(model) for model in own.models.list()]
    count = own.messages.count_tokens(model="m", messages=QUESTION["messages"]).input_tokens
    return {"refused": refused, "count": count, "models": [model.id for model in models]}


SCENES = {scene.__name__: scene for scene in (stream, create, use_server_tools, run_tools, fail)}
serve(lambda name, url: SCENES[name](url))
