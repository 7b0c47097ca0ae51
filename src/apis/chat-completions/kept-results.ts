/** Stores the server-run calls and results, which the client cannot send back, until it answers its own calls of the same turn. */

import { createHash } from 'node:crypto';
import { referenceByteBudget } from '../../engine/history/history.ts';
import { type StoreWriteSettings, storeRecord } from '../../engine/request/keep.ts';
import { reportInfo } from '../../ports/hooks.ts';
import { mapInGroups } from '../../ports/queues/in-groups.ts';
import { fromStore, type ResponseStore } from '../../ports/store.ts';
import { toolMessages } from '../../protocol/chat-completions/messages.ts';
import type { OwnFields } from '../../protocol/chat-completions/own-fields.ts';
import { isId, isUniqueCallId, recordKey } from '../../protocol/ids.ts';
import { contentText } from '../../protocol/item-text.ts';
import type { Item } from '../../protocol/items.ts';
import { markedIn } from '../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import { continueFields, TEXT_FIELDS, withLaterCitations } from './answer/message-fields.ts';
import { type AnsweredChatCall, callMessage } from './answer/next-body.ts';
import type { ChatBody } from './request/schema.ts';

type Message = ChatBody['messages'][number];

/** The last round of a turn, which calls the client's tools. */
export interface ChatRound {
  /** The messages of the request. */
  readonly messages: readonly Message[];
  /** The messages of the rounds before it. */
  readonly before: readonly Message[];
  /** The round's own text; the client has the text of all rounds in one message. */
  readonly text: string;
  readonly clients: readonly AnsweredChatCall['call'][];
  readonly answered: readonly AnsweredChatCall[];
}

/** The same as stored. */
interface KeptRound extends Item {
  readonly type: typeof TYPE;
  readonly before: readonly Message[];
  readonly text: string;
  readonly clients: readonly JsonObject[];
  readonly calls: readonly (AnsweredChatCall['call'] & { readonly output: unknown })[];
}

const TYPE = 'chat_round';
/** Messages that are looked up at the same time. */
const AT_ONCE = 16;

/**
 * Stores the round under the first of the client's calls. Throws `store_error`, or only reports it, as the host
 * configured.
 */
export async function keepResults(
  settings: StoreWriteSettings,
  about: { readonly scope: string; readonly requestId: string },
  { messages, before, text, clients, answered }: ChatRound,
): Promise<void> {
  const calls = answered.map(({ call: { id, name, arguments: text, extra }, output }) => ({
    id,
    name,
    arguments: text,
    output,
    ...(extra ? { extra } : {}),
  }));
  const round: KeptRound = { type: TYPE, before, text, clients: clients.map(identity), calls };
  // With the names as the client has them, not as a model server takes them.
  const calling = { role: 'assistant', tool_calls: clients.map(({ id, name }) => ({ id, function: { name } })) };
  const id = roundKeys([...messages, calling]).at(-1);
  if (id === undefined) return;
  const stored = { scope: about.scope, id, createdAt: Date.now(), input: [], output: [round], resource: {} };
  await storeRecord(stored, settings, reportInfo(about, about.requestId));
}

/** Where rounds are stored, and how much of them one request may load. */
interface RoundStore {
  readonly store: ResponseStore;
  readonly scope: string;
  readonly maxBytes: number;
  /** How many of them are looked up: those of the newest messages. */
  readonly maxRounds: number;
  /** What the guards of the request make of a text that the client sends back, unless they block it; undefined if there are none. */
  readonly guarded?: ((text: string) => Promise<string | undefined>) | undefined;
}

/**
 * The messages, which stand behind `earlier`, with the server-run calls and results restored beside the client's. Throws
 * `store_error`, and `history_too_long` past `maxBytes`: a message is short, and may be repeated.
 */
export async function restoreResults(
  { store, scope, maxBytes, maxRounds, guarded }: RoundStore,
  messages: readonly Message[],
  earlier: readonly Message[] = [],
): Promise<readonly Message[]> {
  const room = referenceByteBudget(maxBytes, 'messages');
  const lookups = new Map<string, Promise<readonly Item[] | undefined> | undefined>();
  const keys = roundKeys([...earlier, ...messages]).slice(earlier.length);
  // Of the newest messages only: one body must not cause a hundred thousand store reads.
  for (let at = messages.length - 1; at >= 0 && lookups.size < maxRounds; at -= 1) {
    const key = keys[at];
    if (key !== undefined) lookups.set(key, undefined);
  }
  const load = async (id: string) => (await fromStore(() => store.get({ scope, id })))?.output;
  const find = async (key: string) => {
    if (!lookups.has(key)) return undefined;
    const lookup = lookups.get(key) ?? load(key);
    lookups.set(key, lookup);
    return room(await lookup);
  };
  // A few at a time: one body must not cause thousands of concurrent store reads.
  const restored = await mapInGroups(messages, AT_ONCE, async (message, at) => {
    const key = keys[at];
    const [round] = (key === undefined ? undefined : await find(key)) ?? [];
    // The cast: items of this type are stored here only.
    return round?.type === TYPE ? restoreMessage(round as KeptRound, message, guarded) : [message];
  });
  return restored.flat();
}

/**
 * The store key of each message's round, by the first of its calls; undefined for a message without calls. Where other calls
 * may have the same id, what the user has said before is part of the key: without blanks, since stores and clients join the
 * parts of a text differently, and without images, which tools put into messages of the user.
 */
function roundKeys(messages: readonly Message[]): readonly (string | undefined)[] {
  const said = createHash('sha256');
  let hasUserText = false;
  return messages.map((message) => {
    const text = message.role === 'user' ? contentText(message.content).replace(/\s/g, '') : '';
    if (text !== '') {
      said.update(`${text.length}:${text}`);
      hasUserText = true;
    }
    const [call] = messageCalls(message);
    if (typeof call?.id !== 'string') return undefined;
    const name = isRecord(call.function) ? plainText(call.function.name) : '';
    const isShared = isId(call.id) && hasUserText && !isUniqueCallId(call.id, name);
    return recordKey('chatRound', isShared ? `${call.id}_${said.copy().digest('hex')}` : call.id);
  });
}

/** The message with the messages of its round; the message alone if it is not the one that the client received. */
async function restoreMessage(
  { before, text, calls, clients: stored }: KeptRound,
  message: Message,
  guarded: RoundStore['guarded'],
): Promise<readonly Message[]> {
  const clients = messageCalls(message);
  // Call ids come from the model server, and some count from 0 in every answer: the called functions must match too.
  const called = clients.map(({ id, function: named }) => identity({ id, ...(isRecord(named) ? named : {}) }));
  const isSame = JSON.stringify(stored) === JSON.stringify(called) || (await areChanged(stored, called, guarded));
  if (!isSame) return [message];
  const words = contentText(message.content);
  const earlier = before.map((each) => (each.role === 'assistant' ? contentText(each.content) : '')).join('');
  let { content } = message;
  if (words === earlier + text) content = text || null;
  else if (guarded && words === (await guarded(earlier + text))) content = (await guarded(text)) || null;
  // The casts: these messages were created here.
  const results = toolMessages(calls) as readonly Message[];
  const own = (await ownFields(message, before, guarded)) as Message;
  return [...before, { ...own, content, tool_calls: [...calls.map(callMessage), ...clients] }, ...results];
}

/** The message without the reasoning and the lists of the rounds before it, which their own messages hold. */
async function ownFields(
  message: Message,
  before: readonly Message[],
  guarded: RoundStore['guarded'],
): Promise<JsonObject> {
  // Also of rounds without citations: those of the newest round stand behind their texts.
  const earlier: OwnFields = { annotations: [] };
  let length = 0;
  for (const each of before) {
    const { role, content: _, tool_calls: __, ...fields } = each;
    if (role !== 'assistant') continue;
    continueFields(earlier, withLaterCitations(fields, length));
    length += contentText(each.content).length;
  }
  const own: OwnFields = { ...message };
  for (const [name, value] of Object.entries(earlier)) {
    // Of other fields the newest round's value counts.
    if (typeof value === 'string' && !TEXT_FIELDS.has(name)) continue;
    const rest = await restBehind(value, message[name], guarded);
    if (rest === undefined) continue;
    own[name] = rest;
    if (rest.length === 0) delete own[name];
    else if (name === 'annotations') Object.assign(own, withLaterCitations(own, -length));
  }
  return own;
}

/** What a text or a list has behind what it begins with; undefined if it does not begin with it. */
async function restBehind(
  first: unknown,
  whole: unknown,
  guarded: RoundStore['guarded'],
): Promise<string | readonly unknown[] | undefined> {
  if (typeof first === 'string' && typeof whole === 'string') {
    if (whole.startsWith(first)) return whole.slice(first.length);
    const changed = await guarded?.(first);
    return changed !== undefined && whole.startsWith(changed) ? whole.slice(changed.length) : undefined;
  }
  if (!Array.isArray(first) || !Array.isArray(whole)) return undefined;
  const isSame = JSON.stringify(whole.slice(0, first.length)) === JSON.stringify(first);
  return isSame ? whole.slice(first.length) : undefined;
}

/** Whether the calls are the stored ones, but for what guards have changed in what the client sent back. */
async function areChanged(
  stored: readonly JsonObject[],
  called: readonly JsonObject[],
  guarded: RoundStore['guarded'],
): Promise<boolean> {
  if (!guarded || stored.length !== called.length) return false;
  for (const [at, { id, name, arguments: value }] of stored.entries()) {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    const changed = identity({ id, name, arguments: await guarded(text) });
    if (JSON.stringify(changed) !== JSON.stringify(called[at])) return false;
  }
  return true;
}

function messageCalls(message: Message): readonly JsonObject[] {
  const calls = message.role === 'assistant' ? message.tool_calls : undefined;
  return recordsIn(calls);
}

/** Without the blanks in the arguments, which clients may reformat. */
function identity({ id, name, arguments: text }: { id?: unknown; name?: unknown; arguments?: unknown }): JsonObject {
  const value = markedIn(String(text));
  return { id, name, arguments: value === undefined ? text : value };
}
