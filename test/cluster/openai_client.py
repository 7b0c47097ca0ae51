"""A client of openai-python that is cut off in the middle of a stream; it is told of another node and reads the rest there.

It is given the URL of a node, prints one JSON text a line, and reads one line: the URL of the other node.
"""

import json
import sys

from openai import OpenAI, omit
from openai.lib.streaming.responses._responses import ResponseStreamState


def client(url):
    return OpenAI(base_url=url, api_key="client-key", max_retries=0)


def say(**what):
    print(json.dumps(what), flush=True)


def plain(model):
    # It warns of its own classes for parsed output.
    return model.to_dict(mode="json", warnings=False)


def heard(stream, events):
    for event in stream:
        events.append(event)
        say(event=plain(event))


def accumulated(events):
    """What the client makes of them: texts of deltas, whole items, and the response; raises if they contradict each other."""
    state = ResponseStreamState(input_tools=omit, text_format=omit)
    fired = [each for event in events for each in state.handle_event(event)]
    texts = {each.output_index: each.snapshot for each in fired if each.type == "response.output_text.delta"}
    items = [plain(item) for _, item in sorted(state._completed_output.items())]
    return {"texts": list(texts.values()), "items": items, "final": plain(state._completed_response)}


events = []
try:
    heard(client(sys.argv[1]).responses.create(model="m", input="Hi", background=True, stream=True), events)
except Exception as error:
    say(cut=type(error).__name__)

other = client(sys.stdin.readline().strip())
last = events[-1].sequence_number
heard(other.responses.retrieve(events[0].response.id, stream=True, starting_after=last), events)
say(accumulated=accumulated(events))

with other.responses.stream(response_id=events[0].response.id, starting_after=3) as stream:
    types = [event.type for event in stream]
    say(followed={"types": types, "final": plain(stream.get_final_response())})

retrieved = other.responses.retrieve(events[0].response.id)
say(retrieved=plain(retrieved), text=retrieved.output_text)
