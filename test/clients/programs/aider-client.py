"""aider, which edits files as its model says.

client: `aider-chat` (aider)
packages: aider-chat
settings: `aider --model openai/my-model --openai-api-base … --openai-api-key …`
"""
import subprocess
import sys

from scene import HELLO, api_key, base_url, shows

FLAGS = ["--yes-always", "--no-git", "--no-check-update", "--analytics-disable", "--no-show-model-warnings", "--no-pretty"]


def asked(message, *more):
    settings = ["--model", "openai/my-model", "--openai-api-base", base_url, "--openai-api-key", api_key]
    command = [sys.executable, "-m", "aider", *settings, *FLAGS, *more, "--message", message]
    done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return done.stdout


def edited():
    asked("Make made.txt.", "--edit-format", "whole", "made.txt")
    with open("made.txt") as file:
        return file.read()


shows("chat", "text", lambda: next(line for line in asked(HELLO).splitlines() if line.startswith("Hello")))
shows("chat", "edits", edited)
