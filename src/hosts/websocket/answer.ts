/** Answers one message of a client with the core's reply. */

import type { IncomingMessage } from 'node:http';
import { refusalEndpoint, reportError } from '../../apis/endpoint/endpoint.ts';
import { type LiveResponse, openResponse } from '../../apis/responses/create.ts';
import { HEARTBEAT } from '../../apis/responses/encoding/encoder.ts';
import type { Activity } from '../../engine/request/activity.ts';
import { type EndpointRequest, headersFrom } from '../../engine/request/endpoint-request.ts';
import { ownError } from '../../ports/host/host-error.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { ApiError, toApiError } from '../../protocol/errors.ts';
import type { TurnEnd } from '../../protocol/events.ts';
import { requestIdFrom } from '../../protocol/ids.ts';
import type { Reply } from '../../protocol/reply.ts';
import type { CoreSettings } from '../../server/options/core-settings.ts';
import { settingsFor } from '../../server/options/presentation.ts';
import { receivedStep } from '../../server/reported-routes.ts';
import type { Injection, InjectMessage } from './injection.ts';
import type { ConnectionMemory } from './memory.ts';
import type { BadMessage, CreateMessage } from './message.ts';
import type { SocketWriter } from './socket-writer.ts';
import type { Followed, Steering, SteerMessage } from './steering.ts';

/** The client that is answered, and the settings. */
export interface Client {
  readonly request: IncomingMessage;
  readonly scope: string;
  readonly core: CoreSettings;
  readonly turns: Activity;
  readonly memory: ConnectionMemory;
  readonly writer: SocketWriter;
  readonly steering: Steering;
  /** Set if the client may answer calls of responses that run. */
  readonly injection?: Injection;
  /** Aborted when the client leaves. */
  readonly left: AbortSignal;
  readonly disconnect: () => void;
}

/** Runs one turn, and those that the client's steers add to it; rejects only if the client has left. */
export async function answerCreate(client: Client, message: CreateMessage): Promise<void> {
  const { steering } = client;
  const { body, steers } = steering.commit(message.body);
  const onRefused = (error: unknown, request: EndpointRequest) => {
    steering.restore(steers);
    return sendError(error, request, client, message.lane);
  };
  let followed = await runTurn(client, { ...message, body }, { steers, onRefused });
  while (followed?.next) {
    const { next, steers: committed = [] } = followed;
    followed = await runTurn(
      client,
      { ...message, body: next },
      {
        steers: committed,
        isSteering: true,
        onRefused: async (error) => {
          if (client.left.aborted) throw error;
          const failure = { code: 'successor_creation_failed', message: toApiError(error).message };
          await sendSteerEvents(client, steering.fail(committed, message.lane, failure));
        },
      },
    );
  }
}

/** The steers that a turn commits by beginning, and what follows if it cannot begin. */
interface Beginning extends Required<Pick<Followed, 'steers'>> {
  readonly onRefused: (error: unknown, request: EndpointRequest) => Promise<void>;
  /** Whether the turn goes on with another one's request. */
  readonly isSteering?: boolean;
}

async function runTurn(
  client: Client,
  { body, generate, lane }: CreateMessage,
  { steers, onRefused, isSteering }: Beginning,
): Promise<Followed | undefined> {
  const { core, memory, turns, steering, injection } = client;
  const upstream = generate ? core.upstream : noModel;
  const turn = memory.turn();
  let id: string | undefined;
  // Compaction is a model call too.
  const unsteered = toMessageRequest(client, generate ? body : { ...body, context_management: null });
  const request = {
    ...unsteered,
    isSteered: () => steering.hasSteers(id),
    isSteering,
    ...(injection ? { isInjectable: true } : {}),
  };
  core.recorder.onStep?.(receivedStep(request, 'WebSocket response.create'));
  const budget = generate ? core.budget : undefined;
  const settings = settingsFor({ ...core, upstream, budget, store: turn.store, keepsUnstored: true }, request);
  const live = await openResponse(request, settings, turns).catch((error) => onRefused(error, request));
  let followed: Followed | undefined;
  if (live) {
    id = live.id;
    steering.release(steers);
    steering.begin(id, lane, body);
    injection?.begin(live);
    const end = await writeEvents(client, live, lane);
    injection?.end(id);
    followed = steering.end(id, end);
    await sendSteerEvents(client, followed);
  }
  // Open Responses requires it: the client must not continue from a response that may differ from what it expects.
  if (!turn.canContinue) memory.forget(body.previous_response_id);
  return followed;
}

/** Accepts or refuses input for a running response, at once. */
export async function answerSteer(client: Client, message: SteerMessage): Promise<void> {
  const { steering, injection } = client;
  await sendSteerEvents(client, { events: [steering.steer(message)] });
  if (steering.hasSteers(message.steered)) injection?.steer(message.steered);
}

/** Takes or refuses answers to calls of a running response, whatever waits; that they were taken is an event of the response. */
export async function answerInject(client: Client, message: InjectMessage): Promise<void> {
  const failure = await client.injection?.inject(message).catch((error: unknown) => toApiError(error));
  if (failure instanceof ApiError) return answerError(client, { lane: undefined, error: failure });
  if (failure && !client.left.aborted) await client.writer.send(JSON.stringify(failure));
}

async function sendSteerEvents({ writer, left }: Client, { events }: Pick<Followed, 'events'>): Promise<void> {
  for (const { lane, event } of events) if (!left.aborted) await writer.send(withStreamId(JSON.stringify(event), lane));
}

/** A WebSocket has no error handler of the host, so errors of the host's functions are server errors here. */
async function sendError(
  error: unknown,
  request: EndpointRequest,
  client: Client,
  lane: string | undefined,
): Promise<void> {
  if (client.left.aborted) throw error;
  const { status, body } = reportError(ownError(error), request, client.core);
  const { errorBody } = client.core.dialectOf(request.request);
  const message = { type: 'error', status, error: errorBody ? errorBody(body) : body };
  await client.writer.send(withStreamId(JSON.stringify(message), lane));
}

/** Refuses a message; rejects only if the client has left. */
export async function answerError(client: Client, { error, lane }: BadMessage): Promise<void> {
  await sendError(error, toMessageRequest(client), client, lane);
}

/** The reply to a refused upgrade request. */
export function upgradeRefusal(error: ApiError, request: IncomingMessage, core: CoreSettings): Promise<Reply> {
  const { signal } = new AbortController();
  return refusalEndpoint(error, core)(toMessageRequest({ request, scope: '', left: signal, disconnect: () => {} }));
}

type Caller = Pick<Client, 'request' | 'scope' | 'left' | 'disconnect'>;

/** Each message is a request with an id of its own; the headers are those of the upgrade. */
function toMessageRequest({ request, scope, left, disconnect }: Caller, body?: unknown): EndpointRequest {
  const headers = headersFrom(request.headers);
  const requestId = requestIdFrom(undefined);
  return { body, params: {}, query: {}, headers, scope, requestId, signal: left, request, disconnect };
}

async function writeEvents(
  { writer, left }: Client,
  { events, encoder }: LiveResponse,
  lane: string | undefined,
): Promise<TurnEnd | undefined> {
  let end: TurnEnd | undefined;
  for await (const batch of events) {
    const last = batch.at(-1);
    if (last?.type === 'turn-end') end = last;
    for (const message of encoder.messages(batch)) {
      if (left.aborted) return undefined;
      if (message === HEARTBEAT) writer.ping();
      else await writer.send(withStreamId(message, lane));
    }
  }
  return end;
}

/** Serialises an object with the name of its lane, which is written unescaped because its characters have been checked. */
function withStreamId(json: string, lane: string | undefined): string {
  return lane === undefined ? json : `${json.slice(0, -1)},"stream_id":"${lane}"}`;
}

/** Ends every turn without output, so that everything before a model call is done and stored. */
const noModel: Upstream = {
  name: 'none',
  async *stream() {
    yield [{ type: 'finish', reason: 'stop' }];
  },
};
