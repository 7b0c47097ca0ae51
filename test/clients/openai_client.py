"""openai-python's `responses`: turns that call tools, whose answers must be of the SDK's own types to the letter."""
from openai import OpenAI
from scenes import run_command, serve


def checked(model):
    """The name of its class, having read it again: the SDK takes whatever comes, and its types do not."""
    type(model).model_validate(model.to_dict(mode="json", warnings=False))
    # A helper has classes of its own for messages.
    return type(model).__name__.removeprefix("Parsed")


def asked(client, stream, body, events):
    if stream == "create":
        for event in client.responses.create(**body, stream=True):
            events.append([event.type, checked(event)])
        return event.response
    if stream == "stream":
        with client.responses.stream(**body) as opened:
            for event in opened:
                events.append([event.type, checked(event)])
            return opened.get_final_response()
    return client.responses.create(**body)


def shell_outputs(response, folder):
    calls = [item for item in response.output if item.type == "shell_call"]
    return [{"type": "shell_call_output", "call_id": call.call_id, "output": ran(call, folder)} for call in calls]


def ran(call, folder):
    each = [run_command(command, folder) for command in call.action.commands]
    return [
        {"stdout": stdout, "stderr": stderr, "outcome": {"type": "exit", "exit_code": code}}
        for stdout, stderr, code in each
    ]


def talk(url, tools, inputs, continuing, stream=None, folder=".", include=None):
    history, previous, texts, items, events = [], None, [], [], []
    with OpenAI(base_url=url, api_key="client-key", max_retries=0) as client:
        waiting = [[{"role": "user", "content": content}] for content in inputs]
        while waiting:
            given = waiting.pop(0)
            history += given
            body = {"model": "m", "tools": tools, **({"include": include} if include else {})}
            if continuing == "history":
                body.update(input=history, store=False)
            else:
                body.update(input=given, **({"previous_response_id": previous} if previous else {}))
            response = asked(client, stream, body, events)
            checked(response)
            history = [*history, *response.output]
            previous = response.id
            items.append([checked(item) for item in response.output])
            outputs = shell_outputs(response, folder)
            if outputs:
                waiting.insert(0, outputs)
            else:
                texts.append(response.output_text)
    return {"texts": texts, "items": items, "events": events, "last": response.to_dict(mode="json", warnings=False)}


serve(talk)
