/** Answers one message of a client with the core's own reply. */
import type { IncomingMessage } from 'node:http';
import { createResponse } from '../apis/responses/create.ts';
import type { Activity } from '../ports/activity.ts';
import { type Call, headersFrom } from '../ports/api-request.ts';
import { answered, errorReplyTo, refusal } from '../ports/endpoint.ts';
import type { ApiError } from '../protocol/errors.ts';
import { requestIdFrom } from '../protocol/ids.ts';
import type { Reply } from '../protocol/reply.ts';
import { type CoreSettings, settingsFor } from '../server/options.ts';
import { errorMessage, messagesIn, PING } from './frames.ts';
import type { ConnectionMemory } from './memory.ts';
import type { BadMessage, CreateMessage } from './message.ts';
import type { Outlet } from './outlet.ts';
import { noModel } from './warm-up.ts';

/** Who is answered, and with what. */
export interface Client {
  readonly request: IncomingMessage;
  readonly scope: string;
  readonly core: CoreSettings;
  readonly turns: Activity;
  readonly memory: ConnectionMemory;
  readonly outlet: Outlet;
  /** Aborted when the client leaves. */
  readonly left: AbortSignal;
  readonly disconnect: () => void;
}

/** Runs one turn; rejects only where the client has left. */
export async function answerCreate(client: Client, { body, generate, lane }: CreateMessage): Promise<void> {
  const { core, memory, turns } = client;
  const upstream = generate ? core.upstream : noModel;
  const turn = memory.turn();
  const settings = { ...core, upstream, store: turn.store, keepsUnstored: true };
  const endpoint = answered(async (call) => createResponse(call, settingsFor(settings, call), turns), settings);
  // Compaction is a model call too.
  const asked = generate ? body : { ...body, context_management: null };
  const call = callOf(client, asked);
  await write(client, await endpoint(call).catch((error) => hostFailed(error, call, client)), lane);
  // Open Responses wants it: the client must not go on from what may not be what it believes.
  if (!turn.kept) memory.forget(body.previous_response_id);
}

/** There is no handler of the host's behind a WebSocket: what its functions throw is a fault of the server's here. */
function hostFailed(error: unknown, call: Call, { core, left }: Client): Reply {
  if (left.aborted) throw error;
  return errorReplyTo(error, call, core);
}

/** Refuses a message; rejects only where the client has left. */
export async function answerError(client: Client, { error, lane }: BadMessage): Promise<void> {
  await write(client, await refusal(error, client.core)(callOf(client)), lane);
}

/** The reply to an upgrade request that is refused. */
export function upgradeRefusal(error: ApiError, request: IncomingMessage, core: CoreSettings): Promise<Reply> {
  const { signal } = new AbortController();
  return refusal(error, core)(callOf({ request, scope: '', left: signal, disconnect: () => {} }));
}

type Caller = Pick<Client, 'request' | 'scope' | 'left' | 'disconnect'>;

/** Each message is a request of its own, with an id of its own; the headers are those of the upgrade. */
function callOf({ request, scope, left, disconnect }: Caller, body?: unknown): Call {
  const headers = headersFrom(request.headers);
  const requestId = requestIdFrom(undefined);
  return { body, params: {}, query: {}, headers, scope, requestId, signal: left, request, disconnect };
}

async function write({ outlet, left }: Client, { status, body }: Reply, lane: string | undefined): Promise<void> {
  // Requests ask for streams, so a text is a refusal.
  if (typeof body === 'string') return outlet.send(errorMessage(status, body, lane));
  for await (const frames of body) {
    for (const message of messagesIn(frames, lane)) {
      if (left.aborted) return;
      if (message === PING) outlet.ping();
      else await outlet.send(message);
    }
  }
}
