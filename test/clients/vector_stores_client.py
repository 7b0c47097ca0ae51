"""openai-python's `files`, `vector_stores` and `file_search`, whose answers must be of the SDK's own types to the letter."""
from openai import OpenAI
from scenes import serve


def checked(model):
    """The model, having read it again: the SDK takes whatever comes, and its types do not."""
    type(model).model_validate(model.to_dict(mode="json", warnings=False))
    return model


def kept(client, name, texts):
    store = checked(client.vector_stores.create(name=name, metadata={"made": "here"}))
    ids = []
    for filename, text in texts.items():
        file = checked(
            client.vector_stores.files.upload_and_poll(vector_store_id=store.id, file=(filename, text.encode()))
        )
        ids.append(file.id)
        assert file.status == "completed", file.last_error
    return store, ids


def batch_of(client, store, texts):
    files = [(name, text.encode()) for name, text in texts.items()]
    batch = checked(client.vector_stores.file_batches.upload_and_poll(vector_store_id=store.id, files=files))
    listed = client.vector_stores.file_batches.list_files(batch.id, vector_store_id=store.id)
    return [checked(file).status for file in listed]


def talk(url, texts, query, question):
    with OpenAI(base_url=url, api_key="client-key", max_retries=0) as client:
        store, ids = kept(client, "Papers", texts)
        batch = batch_of(client, store, {"more.txt": "One more file."})
        changed = checked(
            client.vector_stores.files.update(ids[0], vector_store_id=store.id, attributes={"kind": "animal"})
        )
        found = [checked(each) for each in client.vector_stores.search(store.id, query=query, max_num_results=1)]
        content = [checked(part).text for part in client.vector_stores.files.content(ids[0], vector_store_id=store.id)]
        listed = [checked(each).name for each in client.vector_stores.list(limit=1)]
        tool = {"type": "file_search", "vector_store_ids": [store.id], "max_num_results": 1}
        response = checked(
            client.responses.create(model="m", input=question, tools=[tool], include=["file_search_call.results"])
        )
        gone = checked(client.vector_stores.delete(store.id)).deleted
        return {
            "ids": ids,
            "batch": batch,
            "attributes": changed.attributes,
            "found": [[each.filename, each.content[0].text] for each in found],
            "content": content,
            "listed": listed,
            "output": [item.to_dict(mode="json", warnings=False) for item in response.output],
            "gone": gone,
        }


serve(talk)
