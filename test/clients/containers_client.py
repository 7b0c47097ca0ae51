"""openai-python's `containers`, whose answers must be of the SDK's own types to the letter."""
from openai import OpenAI
from scenes import checked, serve


def talk(url):
    client = OpenAI(base_url=url, api_key="alice", max_retries=0)
    made = checked(client.containers.create(name="work", expires_after={"anchor": "last_active_at", "minutes": 5}))
    upload = client.files.create(file=("two.txt", b"two"), purpose="user_data")
    files = client.containers.files
    one = checked(files.create(made.id, file=("one.txt", b"21")))
    two = checked(files.create(made.id, file_id=upload.id))
    tools = [{"type": "code_interpreter", "container": made.id}]
    response = client.responses.create(model="m", input="Go.", tools=tools)
    [citation] = response.output[-1].content[0].annotations
    content = files.content.retrieve(citation.file_id, container_id=citation.container_id).read().decode()
    files.delete(one.id, container_id=made.id)
    paths = sorted(checked(file).path for file in files.list(made.id))
    listed = [checked(container).id == made.id for container in client.containers.list()]
    client.containers.delete(made.id)
    left = [container.id for container in client.containers.list()]
    return {
        "status": made.status,
        "two": two.path,
        "citation": [type(citation).__name__, citation.filename],
        "content": content,
        "paths": paths,
        "listed": listed,
        "left": left,
    }


serve(talk)
