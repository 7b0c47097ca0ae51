"""What the programs in Python share: the address, the questions, the tool, and how they print what came of each question."""
import asyncio
import inspect
import json
import os

base_url = os.environ["OPENAI_BASE_URL"]
api_key = os.environ["OPENAI_API_KEY"]
HELLO = "Say hello."
WEATHER = "How is the weather in Paris?"


def weather(city: str) -> str:
    """The weather in a city.

    Args:
        city: The city.
    """
    return f"Sunny in {city}."


def shows(api, feature, run):
    """Prints what came of one feature: the value, or the error."""
    try:
        value = run()
        result = {"value": asyncio.run(value) if inspect.iscoroutine(value) else value}
    except Exception as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    print("\n" + json.dumps({"api": api, "feature": feature, **result}), flush=True)
