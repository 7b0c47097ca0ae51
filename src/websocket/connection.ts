/** One connection: takes its messages in order, remembers its turns, and ends in time. */
import type { IncomingMessage } from 'node:http';
import { inspect } from 'node:util';
import type { WebSocket } from 'ws';
import type { Activity } from '../ports/activity.ts';
import { processWarning } from '../ports/warner.ts';
import { ApiError } from '../protocol/errors.ts';
import { answerCreate, answerError, type Client } from './answer.ts';
import { type Job, jobLanes } from './lanes.ts';
import { connectionMemory } from './memory.ts';
import { type BadMessage, type CreateMessage, readMessage } from './message.ts';
import type { WebSocketSettings } from './options.ts';
import { outletOf } from './outlet.ts';

const MIB = 1024 * 1024;

/** What a connection remembers: enough for the longest conversation that a model takes. */
const MEMORY = { turns: 64, bytes: 64 * MIB };

const GOING_AWAY = 1001;
const UNEXPECTED = 1011;

/** A connection, as the one who shuts down sees it. */
export interface Connection {
  /** Resolves when it is closed, by whomever. */
  readonly closed: Promise<void>;
  /** Asks the client for a sign of life; cuts off one that gave none since it was asked last. */
  sendPing(): void;
  /** Closes it when nothing runs any more. */
  retire(): void;
  /** Cuts the client off. */
  terminate(): void;
}

/** Serves the client until the connection is closed. */
export function serveConnection(
  socket: WebSocket,
  { request, scope }: { readonly request: IncomingMessage; readonly scope: string },
  { core, connectionMs, maxLanes, maxQueued }: WebSocketSettings,
  turns: Activity,
): Connection {
  const left = new AbortController();
  const outlet = outletOf(socket);
  const memory = connectionMemory(core.store, { ...MEMORY, onStoreError: core.onStoreError });
  const terminate = () => socket.terminate();
  const client: Client = { request, scope, core, turns, memory, outlet, left: left.signal, disconnect: terminate };
  let expired = false;
  let retiring = false;

  const limits = { running: maxLanes, waiting: maxQueued, waitingBytes: core.limits.bodyBytes };
  const lanes = jobLanes(limits, () => void (retiring && leave()));

  async function leave(): Promise<void> {
    // Only now: in the middle of a response, clients would take it for that response's end.
    if (expired) await refuse({ lane: undefined, error: tooOld() });
    socket.close(GOING_AWAY, expired ? 'connection limit reached' : 'shutting down');
  }

  function refuse(message: BadMessage): Promise<void> {
    return answerError(client, message).catch(broken);
  }

  function retire(): void {
    if (retiring) return;
    retiring = true;
    if (lanes.idle) leave();
  }

  async function answer(message: CreateMessage | BadMessage): Promise<void> {
    if (expired) return answerError(client, { lane: message.lane, error: tooOld() });
    return 'error' in message ? answerError(client, message) : answerCreate(client, message);
  }

  function take(message: CreateMessage | BadMessage, bytes: number): void {
    const { lane } = message;
    // What cannot be answered need not wait for what can: a client that steers waits for nothing else.
    if ('error' in message && message.atOnce && !outlet.full) return void refuse(message);
    const job: Job = { lane, bytes, run: () => answer(message).catch(broken) };
    if (lanes.add(job)) return;
    // One who sends and sends, and reads nothing, is not worth an answer.
    if (outlet.full) return terminate();
    refuse({ lane, error: tooMany() });
  }

  function broken(error: unknown): void {
    if (left.signal.aborted) return;
    processWarning(inspect(error));
    socket.close(UNEXPECTED);
  }

  const timer = setTimeout(() => {
    expired = true;
    retire();
  }, connectionMs).unref();

  socket.on('message', (data, isBinary) => {
    // The cast: this is how ws gives messages where it is not asked for another form.
    const bytes = data as Buffer;
    take(readMessage(isBinary ? undefined : bytes, core.limits), bytes.length);
  });
  // What a client does wrong on the wire: ws closes the connection by itself, with the code for it.
  socket.on('error', () => {});
  const closed = new Promise<void>((resolve) => {
    socket.once('close', () => {
      clearTimeout(timer);
      lanes.clear();
      left.abort(new Error('The client left.'));
      resolve();
    });
  });

  return {
    closed,
    sendPing() {
      if (!outlet.livedSince()) return terminate();
      outlet.ping();
    },
    retire,
    terminate,
  };
}

/** OpenAI's words for it. */
function tooOld(): ApiError {
  const message =
    'Responses websocket connection limit reached. Create a new websocket connection to continue this conversation.';
  return new ApiError('websocket_connection_limit_reached', message, { status: 400, type: 'invalid_request_error' });
}

function tooMany(): ApiError {
  return new ApiError('too_many_streams', 'This connection has as many requests waiting as it may.');
}
