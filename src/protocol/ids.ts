/** Ids of responses and items: 128 random bits, and an item's id leads to the response that holds it. */
import { hash, randomFillSync } from 'node:crypto';
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

/** The id of the response that grows from `seed`. */
export function responseId(seed: string): string {
  return `resp_${seed}`;
}

/** Longer than any server's ids. A longer one names nothing: neither patterns nor stores see it. */
const MAX_ID_LENGTH = 512;

/** Whether something may be kept under this id. */
export function isId(id: string): boolean {
  return id.length <= MAX_ID_LENGTH;
}

const PRINTED_ID_LENGTH = 100;

/** The id as a message says it: a client may send one of megabytes, or what is no text at all. */
export function printedId(id: unknown): string {
  const text = typeof id === 'string' ? id : typeof id;
  return text.length > PRINTED_ID_LENGTH ? `${text.slice(0, PRINTED_ID_LENGTH)}…` : text;
}

/** The same in quotes. */
export function quotedId(id: unknown): string {
  return `'${printedId(id)}'`;
}

/**
 * Where the calls that the server ran for a chat client are kept, by the client's first call of that answer. Some model
 * servers write kilobytes into the id of a call: those count by their digest.
 */
export function chatRoundId(callId: string): string {
  return `${CHAT_ROUND}${isId(callId) ? callId : hash('sha256', callId)}`;
}

const CHAT_ROUND = 'chat_';

/** Where a call that waits for approval is kept, by the item that asks for it. */
export function pendingCallId(approvalRequestId: string): string {
  return `${PENDING_CALL}${approvalRequestId}`;
}

const PENDING_CALL = 'approval_';

/** Whether a response may be kept under this id, foreign ones included: the store also holds what is no response. */
export function isResponseId(id: string): boolean {
  return isId(id) && !id.startsWith(CHAT_ROUND) && !id.startsWith(PENDING_CALL);
}

/** The id of an output item: the response's seed, the item's place in `output`, and from the second model call on its round. */
export function outputItemId(prefix: string, seed: string, index: number, round = 0): string {
  const place = index.toString(16).padStart(4, '0');
  return round === 0 ? `${prefix}_${seed}${place}` : `${prefix}_${seed}${place}r${round.toString(16)}`;
}

/** The id of an input item that came without one. */
export function inputItemId(prefix: string, seed: string, index: number): string {
  return `${prefix}_${seed}i${index.toString(16).padStart(4, '0')}`;
}

const OWN_ITEM_ID = /^[a-z]{1,16}_([0-9a-f]{32})i?[0-9a-f]{4,13}(?:r([0-9a-f]{1,13}))?$/;

/** On millions of digits the pattern would overflow the stack. */
function partsOfItemId(itemId: string): readonly (string | undefined)[] | null {
  return isId(itemId) ? OWN_ITEM_ID.exec(itemId) : null;
}

/** The response that holds the item, or undefined where the id is not one of ours. */
export function responseIdOfItem(itemId: string): string | undefined {
  const seed = partsOfItemId(itemId)?.[1];
  return seed === undefined ? undefined : responseId(seed);
}

/** The container of code that the response from `seed` begins. */
export function containerId(seed: string): string {
  return `cntr_${seed}`;
}

const OWN_CONTAINER_ID = /^cntr_([0-9a-f]{32})$/;

/** The response that began the container, or undefined where the id is not one of ours. */
export function responseIdOfContainer(id: string): string | undefined {
  const seed = OWN_CONTAINER_ID.exec(id)?.[1];
  return seed === undefined ? undefined : responseId(seed);
}

/** A call id for a call that came without one; some servers take no more than 40 characters. */
export function callIdOf(seed: string, index: number): string {
  return `call_${seed}${index.toString(16).padStart(3, '0')}`;
}

/** Names the model call that wrote the item, the same for all items of that call; undefined where the id is not ours. */
export function modelCallOfItem(itemId: string): string | undefined {
  const [, seed, round = '0'] = partsOfItemId(itemId) ?? [];
  return seed === undefined ? undefined : `${seed}.${round}`;
}

/** The client's own request id where it is fit for a header, else a new one. */
export function requestIdFrom(given: unknown): string {
  return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : `req_${randomSeed()}`;
}

/** The id in a request's `conversation`, which is the id itself or an object that holds it. */
export function conversationId(conversation: unknown): string | undefined {
  const id = isRecord(conversation) ? conversation.id : conversation;
  return typeof id === 'string' ? id : undefined;
}
