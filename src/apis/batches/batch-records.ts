/** Batches in the store of responses: a record each, and their lists, which are kept as conversations. */

import { addToList } from '../../engine/history/stored-list.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { selectPage } from '../../engine/request/item-pages.ts';
import type { EventLog } from '../../ports/background/event-log.ts';
import { isUntracked } from '../../ports/scope.ts';
import {
  type ConversationStore,
  changeStored,
  fromStore,
  type ItemPageQuery,
  type ResponseKey,
  type ResponseStore,
  type StoredResponse,
  storedVersion,
} from '../../ports/store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { BATCH_LIST_IDS, type BatchKind, isObjectId, quoteId } from '../../protocol/ids.ts';
import { type Batch, type BatchState, hasEnded } from './batch.ts';

/** A store that has all that batches need. */
export interface BatchStore extends ResponseStore {
  readonly conversations: ConversationStore;
  readonly events: EventLog;
}

/** Some batches of a tenant. */
interface BatchPage {
  readonly batches: readonly Batch[];
  readonly hasMore: boolean;
}

/** The most bytes of one list: about 20,000 batches. The oldest make room for newer ones. */
const MAX_LIST_BYTES = 1024 * 1024;
const ROOM_STEP = 100;
/** Attempts to change a record, each of which fails only if another process has changed it meanwhile. */
const CHANGE_TRIES = 100;
const TYPE = 'batch';

type List = keyof typeof BATCH_LIST_IDS;

/** The batches of all tenants. */
export class BatchRecords {
  readonly log: EventLog;
  private readonly store: BatchStore;
  private readonly keptMs: number;

  constructor(store: BatchStore, keptMs: number) {
    this.store = store;
    this.log = store.events;
    this.keptMs = keptMs;
  }

  /** Stores a new batch and lists it. Throws `store_error`. */
  async create(key: ResponseKey, state: BatchState): Promise<Batch> {
    const batch: Batch = { scope: key.scope, id: key.id, createdAt: Date.now(), version: 0, state };
    await fromStore(() => this.store.put(this.record(batch)));
    await this.list(batch.scope, state.kind, batch.id);
    return batch;
  }

  /** The batch; undefined if the tenant has none with this id. Throws `store_error`. */
  async find({ scope, id }: ResponseKey): Promise<Batch | undefined> {
    const stored = await fromStore(() => this.store.get({ scope, id }));
    return stored && batchIn(stored);
  }

  /** The batch that the request names. Throws `store_error`; `batch_not_found`, of `param`, if its tenant has none of this kind. */
  async require({ scope, params }: EndpointRequest, kind: BatchKind, param: string): Promise<Batch> {
    const id = String(params.id);
    const batch = isObjectId(kind, id) && !isUntracked(scope) ? await this.find({ scope, id }) : undefined;
    if (!batch) throw batchNotFound(id, param);
    return batch;
  }

  /**
   * Changes the batch in one step, and returns it as it is then; undefined if it is deleted. Nothing changes where `edit`
   * returns undefined; it is called again where another process was faster. Throws `store_error`.
   */
  async change(key: ResponseKey, edit: (batch: Batch) => BatchState | undefined): Promise<Batch | undefined> {
    const change = (stored: StoredResponse) => {
      const batch = batchIn(stored);
      const state = batch && edit(batch);
      return state && this.record({ ...batch, state });
    };
    const stored = await changeStored(this.store, key, change, CHANGE_TRIES);
    return stored && batchIn(stored);
  }

  /** One page of the tenant's batches. Throws `store_error`; `batch_not_found` for a page beside an unknown one. */
  async page(scope: string, kind: BatchKind, query: ItemPageQuery): Promise<BatchPage> {
    const { conversations } = this.store;
    const list = { scope, id: BATCH_LIST_IDS[kind] };
    const page = await fromStore(async () =>
      conversations.page ? conversations.page(list, query) : selectPage(await conversations.items(list), query),
    );
    if (page.unknown) throw batchNotFound(query[page.unknown], page.unknown);
    const ids = page.items.map(({ id }) => String(id));
    const found = await Promise.all(ids.map((id) => this.find({ scope, id })));
    const gone = ids.filter((_, index) => !found[index]);
    await Promise.all(gone.map((id) => fromStore(() => conversations.removeItem(list, id))));
    return { batches: found.filter((batch) => batch !== undefined), hasMore: page.hasMore };
  }

  /** Counts a new batch among those that have not ended; false if the tenant has as many as it may. Throws `store_error`. */
  async activate({ scope, id }: ResponseKey, most: number): Promise<boolean> {
    await this.list(scope, 'active', id);
    const list = { scope, id: BATCH_LIST_IDS.active };
    const items = await fromStore(() => this.store.conversations.items(list));
    if (items.length <= most) return true;
    // A process may have been killed between the end of a batch and its leaving the list.
    const others = items.map((item) => String(item.id)).filter((other) => other !== id);
    const found = await Promise.all(others.map((other) => this.find({ scope, id: other })));
    const over = others.filter((_, index) => !found[index] || hasEnded(found[index]));
    for (const other of over) await this.deactivate({ scope, id: other });
    if (items.length - over.length <= most) return true;
    await this.deactivate({ scope, id });
    return false;
  }

  /** Takes the batch out of those that have not ended. Throws `store_error`. */
  async deactivate({ scope, id }: ResponseKey): Promise<void> {
    await fromStore(() => this.store.conversations.removeItem({ scope, id: BATCH_LIST_IDS.active }, id));
  }

  /** Deletes the batch; returns whether there was one. Throws `store_error`. */
  async delete({ scope, id, state: { kind } }: Batch): Promise<boolean> {
    const isDeleted = await fromStore(() => this.store.delete({ scope, id }));
    await fromStore(() => this.store.conversations.removeItem({ scope, id: BATCH_LIST_IDS[kind] }, id));
    await this.deactivate({ scope, id });
    return isDeleted;
  }

  private record({ scope, id, createdAt, version, state }: Batch): StoredResponse {
    const expiresAt = state.expiresAt + this.keptMs;
    // The cast: the state is plain JSON, whose fields the store does not read.
    const resource = { batch: state } as Readonly<Record<string, unknown>>;
    return { scope, id, createdAt, expiresAt, version, input: [], output: [], resource };
  }

  private async list(scope: string, list: List, id: string): Promise<void> {
    const { conversations } = this.store;
    const key = { scope, id: BATCH_LIST_IDS[list] };
    const terms = { maxBytes: MAX_LIST_BYTES, metadata: { list }, makeRoom: () => this.makeRoom(key) };
    await addToList(conversations, key, { type: TYPE, id }, terms);
  }

  private async makeRoom(key: ResponseKey): Promise<void> {
    const items = await fromStore(() => this.store.conversations.items(key));
    for (const item of items.slice(0, ROOM_STEP)) {
      const id = String(item.id);
      const batch = await this.find({ scope: key.scope, id });
      if (batch && hasEnded(batch)) await fromStore(() => this.store.delete({ scope: key.scope, id }));
      if (!batch || hasEnded(batch)) await fromStore(() => this.store.conversations.removeItem(key, id));
    }
  }
}

function batchIn({ scope, id, createdAt, resource: { batch }, ...stored }: StoredResponse): Batch | undefined {
  // The cast: only `record` writes these.
  return batch ? { scope, id, createdAt, version: storedVersion(stored), state: batch as BatchState } : undefined;
}

/** The error of an id that no batch of the tenant has. */
export function batchNotFound(id: unknown, param: string): ApiError {
  return new ApiError('batch_not_found', `No batch found with id ${quoteId(id)}.`, { param });
}
