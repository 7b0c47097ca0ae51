"""The program llm, with a model that its configuration names.

client: `llm`
packages: llm
settings: `extra-openai-models.yaml` with `model_name`, `api_base`, `supports_tools` and `supports_schema`
"""
import json
import os
import subprocess
import sys

from scene import HELLO, WEATHER, api_key, base_url, shows

folder = os.environ["HOME"]
with open(os.path.join(folder, "extra-openai-models.yaml"), "w") as file:
    file.write(f"- model_id: mine\n  model_name: my-model\n  api_base: {base_url}\n  supports_tools: true\n  supports_schema: true\n")
TOOL = 'def weather(city: str):\n    return f"Sunny in {city}."\n'


def asked(*arguments):
    command = [sys.executable, "-m", "llm", "-m", "mine", "--key", api_key, *arguments]
    environment = {**os.environ, "LLM_USER_PATH": folder}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout.strip()


shows("chat", "text", lambda: asked(HELLO, "--no-stream"))
shows("chat", "tool", lambda: asked(WEATHER, "--functions", TOOL))
shows("chat", "structured output", lambda: json.loads(asked(WEATHER, "--schema", "city, celsius int")))
