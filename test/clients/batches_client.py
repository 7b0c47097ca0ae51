"""openai-python's `batches` and `webhooks`, whose answers must be of the SDK's own types to the letter."""
import json
import time

from openai import OpenAI
from scenes import checked, serve


def create(client, ids):
    lines = [
        json.dumps({"custom_id": id, "method": "POST", "url": "/v1/responses", "body": {"model": "m", "input": id}})
        for id in ids
    ]
    file = client.files.create(file=("in.jsonl", "\n".join(lines).encode()), purpose="batch")
    return checked(client.batches.create(input_file_id=file.id, endpoint="/v1/responses", completion_window="24h"))


def ended(client, id):
    while True:
        batch = checked(client.batches.retrieve(id))
        if batch.status in ("completed", "failed", "expired", "cancelled"):
            return batch
        time.sleep(0.02)


def run(client, ids):
    batch = ended(client, create(client, ids).id)
    lines = [json.loads(line) for line in client.files.content(batch.output_file_id).text.splitlines()]
    return {
        "id": batch.id,
        "status": batch.status,
        "counts": batch.request_counts.to_dict(),
        "answers": sorted([line["custom_id"], line["response"]["status_code"]] for line in lines),
        "listed": [checked(each).id for each in client.batches.list()] == [batch.id],
    }


def cancel(client, ids):
    cancelled = checked(client.batches.cancel(create(client, ids).id))
    return {"first": cancelled.status, "last": ended(client, cancelled.id).status}


def unwrap(client, body, headers, secret):
    event = checked(client.webhooks.unwrap(body, headers, secret=secret))
    return {"event": type(event).__name__, "id": event.data.id}


def talk(url, do, **rest):
    client = OpenAI(base_url=url, api_key="alice", max_retries=0)
    return {"run": run, "cancel": cancel, "unwrap": unwrap}[do](client, **rest)


serve(talk)
