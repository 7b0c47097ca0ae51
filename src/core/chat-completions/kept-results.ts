/** Results of our tools that a client cannot bring along: kept until it answers its own calls of the same round. */
import { isRecord } from '../record.ts';
import { fromStore, type ResponseStore } from '../store.ts';
import { type AnsweredCall, toolMessages } from '../upstream/chat-messages.ts';
import type { ChatCall } from './completion.ts';
import type { AnsweredChatCall } from './next-body.ts';
import type { ChatBody } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;
type Message = ChatBody['messages'][number];

const TYPE = 'chat_round';

/** Keeps the results under the first of the client's calls. Throws `store_error`. */
export async function keepResults(
  store: ResponseStore,
  scope: string,
  clients: readonly ChatCall[],
  ours: readonly AnsweredChatCall[],
): Promise<void> {
  const calls = ours.map(({ call: { id, name, arguments: text }, output }) => ({ id, name, arguments: text, output }));
  const output = [{ type: TYPE, clients: clients.map(({ id, name }) => ({ id, name })), calls }];
  const id = keyOf(String(clients[0]?.id));
  await fromStore(() => store.put({ scope, id, createdAt: Date.now(), input: [], output, resource: {} }));
}

function keyOf(callId: string): string {
  return `chat_${callId}`;
}

/** The messages with our calls and their results back beside the client's. Throws `store_error`. */
export async function restoreResults(
  store: ResponseStore,
  scope: string,
  messages: readonly Message[],
): Promise<readonly Message[]> {
  const restored = await Promise.all(messages.map((message) => restored1(store, scope, message)));
  return restored.flat();
}

async function restored1(store: ResponseStore, scope: string, message: Message): Promise<readonly Message[]> {
  const clients = callsOf(message);
  const [first] = clients;
  if (typeof first?.id !== 'string') return [message];
  const kept = await fromStore(() => store.get({ scope, id: keyOf(first.id as string) }));
  const [round] = kept?.output ?? [];
  if (round?.type !== TYPE || !sameCalls(round.clients, clients)) return [message];
  const ours = round.calls as readonly AnsweredCall[];
  const calls = ours.map(({ id, name, arguments: text }) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  }));
  return [{ ...message, tool_calls: [...calls, ...clients] }, ...(toolMessages(ours) as readonly Message[])];
}

function callsOf(message: Message): readonly Fields[] {
  const calls = message.role === 'assistant' ? message.tool_calls : undefined;
  return Array.isArray(calls) ? calls.filter(isRecord) : [];
}

/** Call ids are the model server's and may come back; the names must fit too. */
function sameCalls(kept: unknown, calls: readonly Fields[]): boolean {
  const named = calls.map(({ id, function: called }) => ({ id, name: isRecord(called) ? called.name : undefined }));
  return JSON.stringify(kept) === JSON.stringify(named);
}
