"""openai-python over the example app: a container's files, the Python of a model and its commands, all in the SDK's own types."""
from openai import OpenAI
from scenes import checked, serve


def talk(url):
    client = OpenAI(base_url=url, api_key="any", max_retries=0)
    files = client.containers.files
    made = checked(client.containers.create(name="work"))
    checked(files.create(made.id, file=("one.txt", b"21")))

    def ask(tool, **more):
        response = checked(client.responses.create(model="m", input="Go.", tools=[tool], **more))
        [cited] = response.output[-1].content[0].annotations
        return response, files.content.retrieve(cited.file_id, container_id=cited.container_id).read().decode()

    first, content = ask({"type": "code_interpreter", "container": made.id})
    reference = {"type": "container_reference", "container_id": made.id}
    _, last = ask({"type": "shell", "environment": reference}, previous_response_id=first.id)
    paths = sorted(checked(file).path for file in files.list(made.id))
    client.containers.delete(made.id)
    left = len(list(client.containers.list()))
    return {"content": content, "last": last, "paths": paths, "left": left}


serve(talk)
