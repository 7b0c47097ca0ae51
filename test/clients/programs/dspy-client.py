"""DSPy's language model, and its predictions with JSON and with tools.

client: `dspy`
packages: dspy
settings: `dspy.LM("openai/gpt-4.1", api_base=…, api_key=…)`, with `model_type="responses"` or without; it calls tools only of models whose names it knows
"""
import dspy
from scene import HELLO, WEATHER, api_key, base_url, shows, weather


class Forecast(dspy.Signature):
    question: str = dspy.InputField()
    city: str = dspy.OutputField()
    celsius: int = dspy.OutputField()


def called(lm):
    signature = dspy.Signature("question: str, tools: list[dspy.Tool] -> outputs: dspy.ToolCalls")
    with dspy.context(lm=lm, adapter=dspy.ChatAdapter(use_native_function_calling=True)):
        calls = dspy.Predict(signature)(question=WEATHER, tools=[dspy.Tool(weather)]).outputs.tool_calls
    return weather(**calls[0].args)


def predicted(lm):
    with dspy.context(lm=lm, adapter=dspy.JSONAdapter()):
        answer = dspy.Predict(Forecast)(question=WEATHER)
    return {"city": answer.city, "celsius": answer.celsius}


for api, kind in {"responses": "responses", "chat": "chat"}.items():
    lm = dspy.LM("openai/gpt-4.1", model_type=kind, api_base=base_url, api_key=api_key, cache=False)
    shows(api, "text", lambda: [part if isinstance(part, str) else part["text"] for part in lm(HELLO)][0])
    shows(api, "tool", lambda: called(lm))
    shows(api, "structured output", lambda: predicted(lm))
