"""Reads a scene a line, as JSON, and prints what came of it, or how it failed."""
import json
import subprocess
import sys
import traceback


def serve(play):
    for line in sys.stdin:
        try:
            done = play(**json.loads(line))
        except Exception:
            done = {"error": traceback.format_exc()}
        print(json.dumps(done), flush=True)


def run_command(command, folder):
    """Runs it, given as text for the shell or as a list of arguments: its output, its errors and its exit code."""
    done = subprocess.run(command, shell=isinstance(command, str), cwd=folder, capture_output=True, text=True)
    return done.stdout, done.stderr, done.returncode


def checked(model):
    """A model of openai-python, having read it again: the SDK takes whatever comes, and its types do not."""
    type(model).model_validate(model.to_dict(mode="json", warnings=False))
    return model
