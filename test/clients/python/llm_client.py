"""The program llm, with a model that its configuration names."""
import json
import os
import subprocess
import sys
import tempfile

with tempfile.TemporaryDirectory() as folder:
    with open(os.path.join(folder, "extra-openai-models.yaml"), "w") as file:
        file.write(f"- model_id: mine\n  model_name: demo\n  api_base: {sys.argv[1]}\n  api_key_name: mine\n  supports_tools: true\n")
    environment = {**os.environ, "LLM_USER_PATH": folder, "HOME": folder}
    code = 'def weather(city: str = "") -> str:\n    return "Sunny."\n'

    def asked(*arguments):
        command = [sys.executable, "-m", "llm", "-m", "mine", "--key", "client-key", *arguments]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL)
        if done.returncode:
            raise RuntimeError(done.stderr)
        return done.stdout.strip(), done.stderr

    texts = [asked("Say hello.")[0], asked("Say hello.", "--no-stream")[0]]
    _, shown = asked("Call weather.", "--functions", code, "--td")
    print(json.dumps({"texts": texts, "calls": ["weather"] if "Tool call: weather" in shown else [shown]}))
