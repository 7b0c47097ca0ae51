/** Ids of responses and items: 128 random bits, and an item's id leads to the response that holds it. */
import { hash, randomFillSync } from 'node:crypto';
import { visibleText } from './printable.ts';
import { isRecord } from './record.ts';

const POOL_BYTES = 4096;
const SEED_BYTES = 16;
const pool = Buffer.alloc(POOL_BYTES);
let used = POOL_BYTES;

/** 32 hexadecimal digits from the system's random source, drawn in bulk because one draw costs more than the id. */
export function randomSeed(): string {
  if (used === POOL_BYTES) {
    randomFillSync(pool);
    used = 0;
  }
  used += SEED_BYTES;
  return pool.toString('hex', used - SEED_BYTES, used);
}

/** The id of the response with this `seed`. */
export function responseId(seed: string): string {
  return `resp_${seed}`;
}

/** The random part of the id of a response of this server. */
export function idSeed(id: string): string {
  return id.slice('resp_'.length);
}

/** Longer than any server's ids. A longer id is treated as unknown: it reaches neither patterns nor stores. */
const MAX_ID_LENGTH = 512;

/** Whether something may be stored under this id. */
export function isId(id: string): boolean {
  return id.length <= MAX_ID_LENGTH;
}

const PRINTED_ID_LENGTH = 100;

/** The id as an error message quotes it: a client may send one of megabytes, one that looks like further lines, or a value that is not text. */
export function toPrintableId(id: unknown): string {
  const text = typeof id === 'string' ? id : typeof id;
  const cut = text.length > PRINTED_ID_LENGTH ? `${text.slice(0, PRINTED_ID_LENGTH)}…` : text;
  return visibleText(cut);
}

/** The same in quotes. */
export function quoteId(id: unknown): string {
  return `'${toPrintableId(id)}'`;
}

/** What the store holds beside responses, conversations and files, by how the keys begin. */
const RECORD_PREFIXES = {
  /** The server-run calls of a chat client, by the client's first call of that answer. */
  chatRound: 'chat_',
  /** A chat completion that its client has wanted stored, by the id that the client has been shown. */
  storedChat: 'stored_chat_',
  /** A call that needs approval, by the item that requests it. */
  pendingCall: 'approval_',
  /** A batch, which has its own id. */
  batch: 'batch_',
  msgbatch: 'msgbatch_',
  /** What is to be delivered to an endpoint of webhooks about a response or a batch; and a tenant's last deliveries. */
  webhook: 'webhook_',
} as const;

/** The store key of such a record. Some model servers write kilobytes into a call's id: such ids are replaced by their digest. */
export function recordKey(kind: keyof typeof RECORD_PREFIXES, id: string): string {
  return `${RECORD_PREFIXES[kind]}${isId(id) ? id : hash('sha256', id)}`;
}

/** The store key of the list of a tenant's stored chat completions, which is kept as a conversation. */
export const CHAT_LIST_ID = 'list_of_stored_chats';

/** The store keys of the lists of a tenant's batches, which are kept as conversations: of each API, and of those that have not ended. */
export const BATCH_LIST_IDS = {
  batch: 'list_of_batches',
  msgbatch: 'list_of_message_batches',
  active: 'list_of_active_batches',
} as const;

const LISTS: ReadonlySet<string> = new Set([CHAT_LIST_ID, ...Object.values(BATCH_LIST_IDS)]);

/** Whether a client's conversation may have the id: the store also holds lists of other things. */
export function isConversationId(id: string): boolean {
  return isId(id) && !LISTS.has(id);
}

/** Whether a response may be stored under this id, foreign ids included: the store also holds other records. */
export function isResponseId(id: string): boolean {
  return isId(id) && !Object.values(RECORD_PREFIXES).some((prefix) => id.startsWith(prefix));
}

/**
 * The id of an output item: the response's seed, the item's index in `output`, and from the second model call on its
 * round.
 */
export function outputItemId(prefix: string, seed: string, index: number, round = 0): string {
  const place = index.toString(16).padStart(4, '0');
  return round === 0 ? `${prefix}_${seed}${place}` : `${prefix}_${seed}${place}r${round.toString(16)}`;
}

/** The id of an input item that arrived without one. */
export function inputItemId(prefix: string, seed: string, index: number): string {
  return `${prefix}_${seed}i${index.toString(16).padStart(4, '0')}`;
}

const OWN_ITEM_ID = /^[a-z]{1,16}_([0-9a-f]{32})(i?)[0-9a-f]{4,13}(?:r([0-9a-f]{1,13}))?(\.[\w.-]*)?$/;

/** On millions of digits the pattern would overflow the stack. */
function partsOfItemId(itemId: string): readonly (string | undefined)[] | null {
  return isId(itemId) ? OWN_ITEM_ID.exec(itemId) : null;
}

/** The place of an item of this server in its id. */
const OWN_PLACE = /^([a-z]{1,16})_[0-9a-f]{32}[0-9a-f]{4,13}(?=r|\.|$)/;

/** The same item's id at another place of another response. */
export function movedItemId(itemId: string, seed: string, index: number): string {
  return itemId.replace(OWN_PLACE, (_, prefix: string) => outputItemId(prefix, seed, index));
}

/** Ids of model servers that an item's id can carry. */
const CARRIED_ID = /^[\w.-]{1,200}$/;
const PREFIX = /^[a-z]{1,16}(?=_)/;

/**
 * The id of an output item that the model's own server made: one of this server's, by which the item is found, and after
 * its dot the id that its server knows it by. An id that cannot be carried is left out. `prefix` is for items without one.
 */
export function nativeItemId(origin: unknown, prefix: string, seed: string, index: number, round: number): string {
  const carried = typeof origin === 'string' && CARRIED_ID.test(origin) ? origin : '';
  return `${outputItemId(PREFIX.exec(carried)?.[0] ?? prefix, seed, index, round)}.${carried}`;
}

/**
 * The id that the model's own server gave the item, empty if it gave none that can be carried; undefined for an item that it did
 * not make.
 */
export function originOfItem(itemId: unknown): string | undefined {
  return typeof itemId === 'string' ? partsOfItemId(itemId)?.[4]?.slice(1) : undefined;
}

/** The response that holds the item, or undefined if the id was not generated here. */
export function responseIdOfItem(itemId: string): string | undefined {
  const seed = partsOfItemId(itemId)?.[1];
  return seed === undefined ? undefined : responseId(seed);
}

/** How an id begins that names its kind, such as `chatcmpl-` or `functions.`. */
const KIND = /^[a-z]{1,16}[-_.]/;
const MIN_UNIQUE_LENGTH = 16;
/** Ollama and Mistral write eight and nine random letters and digits. */
const MIN_UNIQUE_CALL_LENGTH = 8;

/** Whether a model server's id is long enough to be one answer's alone. Ollama's are random numbers below a thousand. */
export function isUniqueId(id: string, minLength: number = MIN_UNIQUE_LENGTH): boolean {
  const letters = id.replace(KIND, '').replaceAll(/[^a-zA-Z0-9]/g, '');
  return letters.length >= minLength;
}

/** Whether the id of a call of this function is that call's alone. Kimi's are the function's name and a number, and others count from 0 in each answer. */
export function isUniqueCallId(id: string, name: string): boolean {
  return isUniqueId(id.replace(name, ''), MIN_UNIQUE_CALL_LENGTH);
}

const OBJECT_PREFIXES = {
  chat: 'chatcmpl-',
  file: 'file-',
  upload: 'upload_',
  part: 'part_',
  vectorStore: 'vs_',
  fileBatch: 'vsfb_',
  container: 'cntr_',
  batch: 'batch_',
  msgbatch: 'msgbatch_',
  skill: 'skill_',
  skillVersion: 'skillver_',
} as const;

/** The id of a new object of a client's. */
export function newObjectId(kind: keyof typeof OBJECT_PREFIXES): string {
  return `${OBJECT_PREFIXES[kind]}${randomSeed()}`;
}

/** Whose API a batch of requests belongs to: OpenAI's or Anthropic's. */
export type BatchKind = 'batch' | 'msgbatch';

const OBJECT_IDS = {
  file: /^file-[0-9a-f]{32}$/,
  vectorStore: /^vs(?:fb)?_[0-9a-f]{32}$/,
  batch: /^batch_[0-9a-f]{32}$/,
  msgbatch: /^msgbatch_[0-9a-f]{32}$/,
  container: /^cntr_[\w-]{1,64}$/,
  skill: /^skill_[0-9a-f]{32}$/,
};

/** Whether an uploaded file may have the id, or a vector store, a batch of its files, a batch of requests, a container or a skill: others reach no store. */
export function isObjectId(kind: keyof typeof OBJECT_IDS, id: string): boolean {
  return OBJECT_IDS[kind].test(id);
}

/** The id under which a store of files keeps the upload or the part; undefined if the id was not generated here. */
export function fileIdOfUpload(prefix: 'upload' | 'part', id: string): string | undefined {
  const [head, seed] = [id.slice(0, prefix.length + 1), id.slice(prefix.length + 1)];
  const fileId = `file-${seed}`;
  return head === `${prefix}_` && isObjectId('file', fileId) ? fileId : undefined;
}

/** The id of the file that the upload becomes: always the same, so that a client may complete it twice. */
export function uploadedFileId(uploadId: string): string {
  return `file-${hash('sha256', `file of ${uploadId}`).slice(0, 2 * SEED_BYTES)}`;
}

/** The id of the code container that the response with this `seed` creates. */
export function containerId(seed: string): string {
  return `cntr_${seed}`;
}

const OWN_CONTAINER_ID = /^cntr_([0-9a-f]{32})$/;

/** The response that created the container, or undefined if the id was not generated here. */
export function responseIdOfContainer(id: string): string | undefined {
  const seed = OWN_CONTAINER_ID.exec(id)?.[1];
  return seed === undefined ? undefined : responseId(seed);
}

/**
 * Identifies the model call that wrote the item, the same for all items of that call; undefined for an input item and if
 * the id was not generated here.
 */
export function modelCallOfItem(itemId: string): string | undefined {
  const [, seed, input, round = '0'] = partsOfItemId(itemId) ?? [];
  return seed === undefined || input ? undefined : `${seed}.${round}`;
}

/** The client's own request id if it is valid in a header, else a new one. */
export function requestIdFrom(given: unknown): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : `req_${randomSeed()}`;
}

/** The id in a request's `conversation`, which is the id itself or an object that holds it. */
export function conversationId(conversation: unknown): string | undefined {
  const id = isRecord(conversation) ? conversation.id : conversation;
  return typeof id === 'string' ? id : undefined;
}
