/** `POST /responses`: one request, from its body to its answer. */
import type { Activity } from '../activity.ts';
import type { Call } from '../call.ts';
import { ApiError, type ErrorBody } from '../errors.ts';
import { type RequestInfo, tell } from '../hooks.ts';
import { randomSeed, responseId } from '../ids.ts';
import type { Note } from '../note.ts';
import type { CoreSettings } from '../options.ts';
import { loadHistory, resolveReferences } from '../prepare/history.ts';
import { validateCreate } from '../prepare/validate.ts';
import { jsonReply, type Reply, streamReply } from '../reply.ts';
import type { TurnEnd, TurnEvent } from '../turn/events.ts';
import { keepTurn, storedTurn } from '../turn/keep.ts';
import { runTurn, type Turn } from '../turn/run-turn.ts';
import { encodeBatch } from './encode.ts';
import { inputItems, modelRequest, planTools } from './parse.ts';
import { endedResource, startedResource } from './resource.ts';
import type { CreateBody } from './schema.ts';

type Fields = Readonly<Record<string, unknown>>;

/** A request that is ready to run. */
interface Prepared {
  readonly body: CreateBody;
  readonly started: Fields;
  readonly info: RequestInfo;
  readonly turn: Omit<Turn, 'call'>;
}

/** Answers one request. Throws `ApiError` for what the client is told with a status; the rest is in the answer. */
export async function createResponse(call: Call, settings: CoreSettings, turns: Activity): Promise<Reply> {
  const stop = new AbortController();
  const release = turns.begin({ abort: (reason) => stop.abort(reason), disconnect: call.disconnect });
  const leave = stopWith(stop, call.signal, settings.limits.durationMs, release);
  try {
    const prepared = await prepare(call, settings);
    tell(settings.hooks, 'onRequest', prepared.info);
    const batches = observed(startTurn(prepared, call, settings, stop.signal), prepared.info, settings, leave);
    if (!prepared.body.stream) return jsonReply(endedResource(prepared.started, await lastEvent(batches)));
    return streamReply(await encoded(batches, prepared, settings));
  } catch (error) {
    leave();
    throw error;
  }
}

/** Ends the turn when the client leaves or its time is up; answers how to stop watching. */
function stopWith(stop: AbortController, client: AbortSignal, durationMs: number, release: () => void): () => void {
  const hangUp = () => stop.abort(client.reason);
  const expire = () =>
    stop.abort(new ApiError('duration_exceeded', 'The response took longer than this server allows.'));
  if (client.aborted) hangUp();
  client.addEventListener('abort', hangUp, { once: true });
  const timer = setTimeout(expire, durationMs).unref();
  return () => {
    clearTimeout(timer);
    client.removeEventListener('abort', hangUp);
    release();
  };
}

async function prepare(call: Call, settings: CoreSettings): Promise<Prepared> {
  const { store, limits, hooks } = settings;
  const { scope, requestId } = call;
  const note = (told: Note) => tell(hooks, 'onNote', told, { requestId });
  const body = validateCreate(call.body);
  const seed = randomSeed();
  const id = responseId(seed);
  const history = await loadHistory(store, scope, body.previous_response_id, limits.historyTurns);
  const given = inputItems((call.body as Fields).input, seed);
  const input = await resolveReferences(store, scope, given, history.items, note);
  const tools = planTools(call.body as Fields, history.previous?.resource, note);
  const createdAt = Date.now();
  const started = startedResource({ id, createdAt: Math.floor(createdAt / 1000), body, tools });
  const previousId = body.previous_response_id;
  const stored = { scope, id, ...(previousId ? { previousId } : {}), createdAt, input };

  return {
    body,
    started,
    info: { requestId, responseId: id, scope, model: body.model, stream: body.stream === true },
    turn: {
      plan: {
        seed,
        reasoning: settings.reasoning === 'summary' ? 'summary_text' : 'reasoning_text',
        ...(tools.allowed ? { allowedTools: tools.allowed } : {}),
        queuedEvent: settings.queuedEvent,
        outputBytes: limits.outputBytes,
        argumentBytes: limits.argumentBytes,
      },
      request: modelRequest(body, [...history.items, ...input], tools),
      upstream: settings.upstream,
      beatMs: body.stream ? settings.heartbeat.intervalMs : undefined,
      beatComments: settings.heartbeat.style === 'comment',
      now: () => Math.floor(Date.now() / 1000),
      keep: async (end) => {
        if (body.store === false) return;
        await kept(storedTurn(stored, endedResource(started, end)));
      },
    },
  };

  async function kept(turn: Parameters<typeof keepTurn>[1]): Promise<void> {
    try {
      await keepTurn(store, turn);
    } catch (error) {
      if (settings.onStoreError === 'fail') throw error;
      tell(hooks, 'onError', error as ApiError, { requestId });
    }
  }
}

function startTurn(prepared: Prepared, call: Call, settings: CoreSettings, signal: AbortSignal) {
  const note = (told: Note) => tell(settings.hooks, 'onNote', told, { requestId: call.requestId });
  const headers = new Headers(call.headers);
  headers.set('x-request-id', call.requestId);
  return runTurn({ ...prepared.turn, call: { signal, headers, limits: settings.limits, note } });
}

/** The turn's batches, with the host told of what they say and of the end; `leave` runs however the turn ends. */
async function* observed(
  batches: AsyncGenerator<readonly TurnEvent[]>,
  info: RequestInfo,
  { hooks }: CoreSettings,
  leave: () => void,
): AsyncGenerator<readonly TurnEvent[]> {
  const began = Date.now();
  try {
    for await (const batch of batches) {
      for (const event of batch) observe(event);
      yield batch;
    }
  } finally {
    leave();
  }

  function observe(event: TurnEvent): void {
    if (event.type === 'call-dropped') tell(hooks, 'onNote', droppedCall(event.name), info);
    if (event.type !== 'turn-end') return;
    // A JSON answer without output is refused with the error's status, and told of there.
    if (event.error && (info.stream || event.output.length > 0)) tell(hooks, 'onError', asApiError(event.error), info);
    tell(hooks, 'onResponse', { ...info, status: event.status, usage: event.usage, durationMs: Date.now() - began });
  }
}

function droppedCall(name: string): Note {
  return { code: 'call_dropped', message: `The model called '${name}', which tool_choice does not allow.` };
}

function asApiError({ code, message, type, param }: ErrorBody): ApiError {
  return new ApiError(code ?? 'server_error', message, { type, param });
}

/** The end of the turn; one that failed before it said anything is answered with its error's status. */
async function lastEvent(batches: AsyncIterable<readonly TurnEvent[]>): Promise<TurnEnd> {
  let end: TurnEnd | undefined;
  for await (const batch of batches) {
    const last = batch.at(-1);
    if (last?.type === 'turn-end') end = last;
  }
  if (!end) throw new ApiError('request_aborted', 'The request was aborted.');
  if (end.error && end.output.length === 0) throw asApiError(end.error);
  return end;
}

/** The frames. The first batch is waited for, so that a refusal still has its own status. */
async function encoded(batches: AsyncGenerator<readonly TurnEvent[]>, { started }: Prepared, settings: CoreSettings) {
  const { reasoning, heartbeat } = settings;
  const options = { started, reasoning, keepalive: heartbeat.style === 'ping' ? 'ping' : 'keepalive' } as const;
  const first = await batches.next();
  return frames(first, batches, (batch) => encodeBatch(batch, options));
}

/** An iterator, not a generator: closing a generator that never ran would leave the turn open. */
function frames<T>(
  first: IteratorResult<T>,
  rest: AsyncGenerator<T>,
  encode: (batch: T) => string,
): AsyncIterableIterator<string> {
  let waiting: IteratorResult<T> | undefined = first;
  return {
    [Symbol.asyncIterator]() {
      return this;
    },
    async next() {
      const result = waiting ?? (await rest.next());
      waiting = undefined;
      return result.done ? { done: true, value: undefined } : { done: false, value: encode(result.value) };
    },
    async return() {
      await rest.return(undefined);
      return { done: true, value: undefined };
    },
  };
}
