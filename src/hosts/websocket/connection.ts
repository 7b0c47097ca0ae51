/** One connection: takes its messages in order, remembers its turns, and closes at its time limit. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { WebSocket } from 'ws';
import type { Activity } from '../../engine/request/activity.ts';
import type { MemoryBudget } from '../../ports/queues/room.ts';
import type { ByteShare } from '../../ports/queues/shared-bytes.ts';
import { limitScope } from '../../ports/scope.ts';
import { ApiError } from '../../protocol/errors.ts';
import { bodyByteShare, tooManyBodies, UnreadAnswer } from '../../server/requests/body-room.ts';
import { answerCreate, answerError, answerInject, answerSteer, type Client } from './answer.ts';
import { countArrivingBytes } from './arriving-bytes.ts';
import { Injection, type InjectMessage, isInjectable } from './injection.ts';
import { connectionMemory } from './memory.ts';
import { type BadMessage, type CreateMessage, readMessage } from './message.ts';
import type { WebSocketSettings } from './options.ts';
import { type Job, requestQueues } from './request-queues.ts';
import { socketWriter } from './socket-writer.ts';
import { Steering, type SteerMessage } from './steering.ts';

const MIB = 1024 * 1024;

/** The limits of a connection's memory: enough for the longest conversation that a model accepts. */
const MEMORY = { turns: 64, bytes: 64 * MIB };

/** Messages of one connection for responses that run, while guards read them. */
const MAX_REACHING = 64;

const GOING_AWAY = 1001;
const UNEXPECTED = 1011;
const TRY_AGAIN = 1013;

/** How long a client that is not read any more has to read why, in milliseconds. */
const GRACE_MS = 1000;

/** A connection, as seen by the shutdown. */
export interface Connection {
  /** Resolves when it is closed, by either side. */
  readonly closed: Promise<void>;
  /** Pings the client; cuts it off if it has shown no activity since the last ping. */
  sendPing(): void;
  /** Closes it when nothing runs any more. */
  retire(): void;
  /** Cuts the client off. */
  terminate(): void;
}

/** What the connections of a server share. */
interface Shared {
  readonly turns: Activity;
  readonly room: MemoryBudget;
}

/** The tenant of the connection, and what carries it. */
interface Caller {
  readonly request: IncomingMessage;
  readonly scope: string;
  readonly wire: Duplex;
}

/** Serves the client until the connection is closed. */
export function serveConnection(
  socket: WebSocket,
  caller: Caller,
  settings: WebSocketSettings,
  shared: Shared,
): Connection {
  return new ServedConnection(socket, caller, settings, shared);
}

class ServedConnection implements Connection {
  readonly closed: Promise<void>;
  private readonly socket: WebSocket;
  private readonly client: Client;
  private readonly queues: ReturnType<typeof requestQueues>;
  private readonly left = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private readonly wire: Duplex;
  /** What messages take that wait for their lane. */
  private readonly waiting = new Set<ByteShare>();
  /** How many messages for responses that run are being read by guards. */
  private reaching = 0;
  /** The bytes of the messages that are being answered. */
  private answeredBytes = 0;
  private expired = false;
  private retiring = false;

  constructor(
    socket: WebSocket,
    caller: Caller,
    { core, connectionMs, maxLanes, maxQueued }: WebSocketSettings,
    { turns, room }: Shared,
  ) {
    const { onStoreError } = core;
    const memory = connectionMemory(core.store, { ...MEMORY, onStoreError, room, scope: caller.scope });
    const steering = new Steering(core.limits.bodyBytes);
    const tenant = () => limitScope(caller.scope);
    const most = core.limits.bodiesBytes;
    const unread = new UnreadAnswer({ tenant, bytes: 0, most }, () => this.terminate());
    const here = {
      memory,
      steering,
      ...(isInjectable(caller.request, core.multiAgent) ? { injection: new Injection() } : {}),
      writer: socketWriter(socket, { unread, heldBytes: () => this.answeredBytes }),
      left: this.left.signal,
      disconnect: () => this.terminate(),
    };
    this.socket = socket;
    this.wire = caller.wire;
    this.client = { ...caller, core, turns, ...here };
    const limits = { running: maxLanes, waiting: maxQueued, waitingBytes: core.limits.bodyBytes };
    this.queues = requestQueues(limits, () => void (this.retiring && this.leave()));
    this.timer = setTimeout(() => this.expire(), connectionMs).unref();
    countArrivingBytes(socket, caller.wire, { tenant, most }, () => void this.stopReading());
    this.closed = this.listen();
  }

  sendPing(): void {
    const { writer } = this.client;
    if (!writer.showedActivity()) return this.terminate();
    writer.ping();
  }

  retire(): void {
    if (this.retiring) return;
    this.retiring = true;
    this.client.steering.close();
    if (this.queues.idle) this.leave();
  }

  terminate(): void {
    this.socket.terminate();
  }

  private listen(): Promise<void> {
    this.socket.on('message', (data, isBinary) => {
      // The cast: ws delivers messages in this form by default.
      const bytes = data as Buffer;
      const { core, injection } = this.client;
      this.take(readMessage(isBinary ? undefined : bytes, core.limits, injection !== undefined), bytes.length);
    });
    // A protocol error of the client: ws closes the connection itself, with the matching code.
    this.socket.on('error', () => {});
    return new Promise((resolve) => {
      this.socket.once('close', () => {
        clearTimeout(this.timer);
        this.queues.clear();
        for (const share of this.waiting) share.end();
        this.client.memory.close();
        this.left.abort(new Error('The client left.'));
        resolve();
      });
    });
  }

  private take(message: CreateMessage | SteerMessage | InjectMessage | BadMessage, bytes: number): void {
    const { writer } = this.client;
    if ('steered' in message || 'injected' in message) return this.reach(message, bytes);
    const { lane } = message;
    // An error for a message without a response need not wait for others: a client that steers waits for nothing else.
    if ('error' in message && message.atOnce && !writer.isFull) return void this.refuse(message);
    const share = bodyByteShare(() => limitScope(this.client.scope));
    const job: Job = { lane, bytes, run: () => this.run(message, bytes, share) };
    this.waiting.add(share);
    const fits = share.growTo(bytes, this.client.core.limits.bodiesBytes);
    if (fits && this.queues.add(job)) return;
    this.releaseShare(share);
    // A client that keeps sending and does not read gets no answer.
    if (writer.isFull) return this.terminate();
    this.refuse({
      lane,
      error: fits
        ? new ApiError('too_many_streams', 'Too many requests are waiting on this connection.')
        : tooManyBodies(),
    });
  }

  private async run(message: CreateMessage | BadMessage, bytes: number, share: ByteShare): Promise<void> {
    this.releaseShare(share);
    this.answeredBytes += bytes;
    await this.answer(message).catch((error) => this.fail(error));
    this.answeredBytes -= bytes;
  }

  private releaseShare(share: ByteShare): void {
    share.end();
    this.waiting.delete(share);
  }

  /** There is no room for what the client sends, and nothing but the end of the connection keeps it from sending more. */
  private async stopReading(): Promise<void> {
    this.wire.pause();
    await this.refuse({ lane: undefined, error: tooManyBodies() });
    this.socket.close(TRY_AGAIN, 'too many bodies');
    setTimeout(() => this.terminate(), GRACE_MS).unref();
  }

  /** What is for a response that runs waits for nothing else; a client that does not read gets no answer. */
  private reach(message: SteerMessage | InjectMessage, bytes: number): void {
    const { client } = this;
    if (client.writer.isFull) return this.terminate();
    if ('steered' in message) return void answerSteer(client, message).catch((error) => this.fail(error));
    const share = bodyByteShare(() => limitScope(client.scope));
    this.waiting.add(share);
    const fits = this.reaching < MAX_REACHING && share.growTo(bytes, client.core.limits.bodiesBytes);
    if (fits) this.reaching += 1;
    const answered = fits ? answerInject(client, message) : this.refuse({ lane: undefined, error: tooManyBodies() });
    void answered
      .catch((error) => this.fail(error))
      .finally(() => {
        if (fits) this.reaching -= 1;
        this.releaseShare(share);
      });
  }

  private async answer(message: CreateMessage | BadMessage): Promise<void> {
    if (this.expired) return answerError(this.client, { lane: message.lane, error: connectionTooOld() });
    return 'error' in message ? answerError(this.client, message) : answerCreate(this.client, message);
  }

  private refuse(message: BadMessage): Promise<void> {
    return answerError(this.client, message).catch((error) => this.fail(error));
  }

  private fail(error: unknown): void {
    if (this.left.signal.aborted) return;
    this.client.core.recorder.onHostError(error);
    this.socket.close(UNEXPECTED);
  }

  private expire(): void {
    this.expired = true;
    this.retire();
  }

  private async leave(): Promise<void> {
    // Sent only now: in the middle of a response, clients would take it for that response's end.
    if (this.expired) await this.refuse({ lane: undefined, error: connectionTooOld() });
    this.socket.close(GOING_AWAY, this.expired ? 'connection limit reached' : 'shutting down');
  }
}

/** OpenAI's wording. */
function connectionTooOld(): ApiError {
  const message =
    'Responses websocket connection limit reached. Create a new websocket connection to continue this conversation.';
  return new ApiError('websocket_connection_limit_reached', message, { status: 400, type: 'invalid_request_error' });
}
