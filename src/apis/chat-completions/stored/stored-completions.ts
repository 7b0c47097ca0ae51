/** Chat completions that clients want stored: each is a record of the store, and each tenant's are listed in a conversation of its own. */
import { addToList } from '../../../engine/history/stored-list.ts';
import { changeStored, fromStore, type ResponseStore, type StoredResponse } from '../../../ports/store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { CHAT_LIST_ID, isId, quoteId, recordKey } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../protocol/record.ts';

/** The client's own names and values. */
type Metadata = Readonly<Record<string, string>>;

/** A stored completion, and the messages that it answers. */
interface StoredCompletion {
  readonly completion: JsonObject;
  readonly messages: readonly JsonObject[];
}

/** One of the tenant's completions, as the list has it. */
interface ListedCompletion {
  readonly id: string;
  readonly model: string;
  readonly metadata: Metadata;
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
}

/** The most bytes of a tenant's list: about 25,000 completions without metadata. Older ones make room for newer ones. */
const MAX_LIST_BYTES = 4 * 1024 * 1024;
/** How many of the oldest make room at once. */
const ROOM_STEP = 100;
/** Attempts to change metadata, each of which fails only if another request has changed them meanwhile. */
const UPDATE_TRIES = 10;
const TYPE = 'stored_chat_completion';

/** The stored chat completions of one tenant. */
export class StoredCompletions {
  private readonly store: ResponseStore;
  private readonly scope: string;

  constructor(store: ResponseStore, scope: string) {
    this.store = store;
    this.scope = scope;
  }

  /** Stores the completion; one of the same id is replaced. Throws `store_error`. */
  async put({ completion, messages }: StoredCompletion): Promise<void> {
    const { scope, store } = this;
    const id = String(completion.id);
    const storedAt = Date.now();
    const resource = { completion, messages };
    const record = { scope, id: recordKey('storedChat', id), createdAt: storedAt, input: [], output: [], resource };
    await fromStore(() => store.put(record));
    await this.list({ id, model: String(completion.model), metadata: metadataIn(completion), storedAt });
  }

  /** The completion. Throws `not_found`. */
  async get(id: string): Promise<StoredCompletion> {
    return completionIn(await this.record(id));
  }

  /** Deletes it. Throws `not_found`. */
  async delete(id: string): Promise<void> {
    const { scope, store } = this;
    const isDeleted = isId(id) && (await fromStore(() => store.delete({ scope, id: recordKey('storedChat', id) })));
    if (!isDeleted) throw notFound(id);
    await fromStore(() => store.conversations?.removeItem(this.listKey, id));
  }

  /** The completion with other metadata, which are stored. Throws `not_found`. */
  async update(id: string, metadata: Metadata): Promise<JsonObject> {
    const { scope, store } = this;
    const change = (record: StoredResponse) => {
      const completion: JsonObject = { ...completionIn(record).completion, metadata };
      return { ...record, resource: { ...record.resource, completion } };
    };
    const key = { scope, id: recordKey('storedChat', id) };
    const changed = isId(id) ? await changeStored(store, key, change, UPDATE_TRIES) : undefined;
    if (!changed) throw notFound(id);
    const { completion } = completionIn(changed);
    await this.list({ id, model: String(completion.model), metadata, storedAt: changed.createdAt });
    return completion;
  }

  /** All of them, oldest first. Throws `unsupported_parameter` if the store keeps no lists. */
  async all(): Promise<readonly ListedCompletion[]> {
    const { conversations, name } = this.store;
    if (!conversations) {
      const message = `Stored chat completions cannot be listed here: the store '${name}' keeps no conversations.`;
      throw new ApiError('unsupported_parameter', message);
    }
    const items = await fromStore(() => conversations.items(this.listKey));
    return items
      .flatMap(listedIn)
      .sort((one, other) => one.storedAt - other.storedAt || (one.id < other.id ? -1 : Number(one.id > other.id)));
  }

  /** Those of these that are still stored; the others have expired, and leave the list. */
  async still(ids: readonly string[]): Promise<readonly StoredCompletion[]> {
    const { scope, store } = this;
    const records = await Promise.all(
      ids.map((id) => fromStore(() => store.get({ scope, id: recordKey('storedChat', id) }))),
    );
    const gone = ids.filter((_, index) => !records[index]);
    await Promise.all(gone.map((id) => fromStore(() => store.conversations?.removeItem(this.listKey, id))));
    return records.flatMap((record) => (record ? [completionIn(record)] : []));
  }

  private get listKey() {
    return { scope: this.scope, id: CHAT_LIST_ID };
  }

  private async record(id: string): Promise<StoredResponse> {
    const { scope, store } = this;
    const record = isId(id) ? await fromStore(() => store.get({ scope, id: recordKey('storedChat', id) })) : undefined;
    if (!record) throw notFound(id);
    return record;
  }

  /** Puts it into the list, in the place of one with the same id. */
  private async list(listed: ListedCompletion): Promise<void> {
    const { conversations } = this.store;
    if (!conversations) return;
    const key = this.listKey;
    const item: Item = { type: TYPE, ...listed };
    await fromStore(() => conversations.removeItem(key, listed.id));
    await addToList(conversations, key, item, {
      maxBytes: MAX_LIST_BYTES,
      metadata: {},
      makeRoom: () => this.makeRoom(),
    });
  }

  private async makeRoom(): Promise<void> {
    const { scope, store, listKey } = this;
    for (const { id } of (await this.all()).slice(0, ROOM_STEP)) {
      await fromStore(() => store.delete({ scope, id: recordKey('storedChat', id) }));
      await fromStore(() => store.conversations?.removeItem(listKey, id));
    }
  }
}

function listedIn({ type, id, model, metadata, storedAt }: Item): readonly ListedCompletion[] {
  if (type !== TYPE || typeof id !== 'string') return [];
  return [{ id, model: String(model), metadata: metadataIn({ metadata }), storedAt: Number(storedAt) }];
}

function completionIn({ resource: { completion, messages } }: StoredResponse): StoredCompletion {
  return {
    completion: isRecord(completion) ? completion : {},
    messages: recordsIn(messages),
  };
}

function metadataIn({ metadata }: JsonObject): Metadata {
  // The cast: they were checked before they were stored.
  return isRecord(metadata) ? (metadata as Metadata) : {};
}

function notFound(id: string): ApiError {
  return new ApiError('not_found', `Chat completion ${quoteId(id)} not found.`, { param: 'completion_id' });
}
