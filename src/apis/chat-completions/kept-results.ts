/** Stores the server-run calls and results, which the client cannot send back, until it answers its own calls of the same turn. */

import { referenceRoom } from '../../engine/history/history.ts';
import { type KeepSettings, keep } from '../../engine/request/keep.ts';
import { fromStore, type ResponseStore } from '../../ports/store.ts';
import { toolMessages } from '../../protocol/chat-completions/messages.ts';
import { chatRoundId } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { markedIn } from '../../protocol/json/whole-numbers.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type AnsweredChatCall, callMessage } from './next-body.ts';
import type { ChatBody } from './schema.ts';

type Message = ChatBody['messages'][number];

/** The last round of a turn, which calls the client's tools. */
export interface ChatRound {
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
  settings: KeepSettings,
  { scope, requestId }: { readonly scope: string; readonly requestId: string },
  { before, text, clients, answered }: ChatRound,
): Promise<void> {
  const calls = answered.map(({ call: { id, name, arguments: text, extra }, output }) => ({
    id,
    name,
    arguments: text,
    output,
    ...(extra ? { extra } : {}),
  }));
  const round: KeptRound = { type: TYPE, before, text, clients: clients.map(identity), calls };
  const id = chatRoundId(String(clients[0]?.id));
  const stored = { scope, id, createdAt: Date.now(), input: [], output: [round], resource: {} };
  await keep(stored, settings, requestId);
}

/** Where rounds are stored, and how many bytes of them one request may load. */
interface KeptRounds {
  readonly store: ResponseStore;
  readonly scope: string;
  readonly maxBytes: number;
  /** How many of them are looked up: those of the newest messages. */
  readonly maxRounds: number;
}

/**
 * The messages with the server-run calls and results restored beside the client's. Throws `store_error`, and
 * `history_too_long` past `maxBytes`: a message is short, and may be repeated.
 */
export async function restoreResults(
  { store, scope, maxBytes, maxRounds }: KeptRounds,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const restored: Message[] = [];
  const room = referenceRoom(maxBytes, 'messages');
  const asked = new Map<string, Promise<readonly Item[] | undefined> | undefined>();
  for (const id of newestRounds(messages, maxRounds)) asked.set(id, undefined);
  const ask = async (id: string) => (await fromStore(() => store.get({ scope, id: chatRoundId(id) })))?.output;
  const find = async (id: string) => {
    if (!asked.has(id)) return undefined;
    const answer = asked.get(id) ?? ask(id);
    asked.set(id, answer);
    return room(await answer);
  };
  // A few at a time: one body must not cause thousands of concurrent store reads.
  for (let from = 0; from < messages.length; from += AT_ONCE) {
    const some = messages.slice(from, from + AT_ONCE).map((message) => withKept(find, message));
    for (const one of await Promise.all(some)) for (const message of one) restored.push(message);
  }
  return restored;
}

/** The possible store keys of the newest messages. One body must not cause a hundred thousand store reads. */
function newestRounds(messages: readonly Message[], most: number): ReadonlySet<string> {
  const ids = new Set<string>();
  for (let at = messages.length - 1; at >= 0 && ids.size < most; at -= 1) {
    // The cast: the index is one of the list's.
    const [first] = callsOf(messages[at] as Message);
    if (typeof first?.id === 'string') ids.add(first.id);
  }
  return ids;
}

async function withKept(
  find: (id: string) => Promise<readonly Item[] | undefined>,
  message: Message,
): Promise<readonly Message[]> {
  const clients = callsOf(message);
  const [first] = clients;
  if (typeof first?.id !== 'string') return [message];
  const [round] = (await find(first.id)) ?? [];
  return isKept(round) && isSame(round.clients, clients) ? restored(round, message, clients) : [message];
}

function callsOf(message: Message): readonly JsonObject[] {
  const calls = message.role === 'assistant' ? message.tool_calls : undefined;
  return Array.isArray(calls) ? calls.filter(isRecord) : [];
}

function isKept(item: Item | undefined): item is KeptRound {
  return item?.type === TYPE;
}

/** Call ids come from the model server, and some count from 0 in every answer: the called functions must match too. */
function isSame(kept: readonly JsonObject[], clients: readonly JsonObject[]): boolean {
  const wired = clients.map(({ id, function: called }) => identity({ id, ...(isRecord(called) ? called : {}) }));
  return JSON.stringify(kept) === JSON.stringify(wired);
}

/** Without the blanks in the arguments, which clients may reformat. */
function identity({ id, name, arguments: text }: { id?: unknown; name?: unknown; arguments?: unknown }): JsonObject {
  const value = markedIn(String(text));
  return { id, name, arguments: value === undefined ? text : value };
}

function restored(
  { before, text, calls }: KeptRound,
  message: Message,
  clients: readonly JsonObject[],
): readonly Message[] {
  const content = wordsOf(message.content) === textOf(before) + text ? text || null : message.content;
  // The cast: these messages were created here.
  const results = toolMessages(calls) as readonly Message[];
  return [...before, { ...message, content, tool_calls: [...calls.map(callMessage), ...clients] }, ...results];
}

/** Some clients write text as a list of parts. */
function wordsOf(content: unknown): unknown {
  return Array.isArray(content) ? content.map((part) => (isRecord(part) ? part.text : '')).join('') : content;
}

/** The model's text in the messages. */
function textOf(messages: readonly Message[]): string {
  return messages.map(({ role, content }) => (role === 'assistant' ? (content ?? '') : '')).join('');
}
