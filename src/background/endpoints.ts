/** `background: true`, and the operations on such a response: wait for it, stream it and cancel it. */

import { endRunning } from '../history/keep-turn.ts';
import type { Activity } from '../ports/endpoints/activity.ts';
import type { EndpointRequest } from '../ports/endpoints/endpoint-request.ts';
import { notify } from '../ports/hooks.ts';
import { isRunning, type ResponseStore, type StoredResponse } from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { isRecord } from '../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, streamReply } from '../protocol/reply.ts';
import { responseError } from '../protocol/responses/response-error.ts';
import { beginTurn, type Lifetime } from '../turn/lifetime.ts';
import type { Followers } from './followers.ts';
import { type BackgroundTurn, cancelled, type Run, type RunSettings, startRun } from './run.ts';
import type { Runs } from './runs.ts';

/** A run of a crashed node counts as over this many milliseconds after its time limit. */
const GRACE_MS = 60_000;

/** A router's background responses, and the clients that follow them. */
interface BackgroundParts {
  readonly turns: Activity;
  readonly runs: Runs;
  readonly followers: Followers;
}

/** Whether the request wants its response to run in the background. */
export function wantsBackground({ body }: EndpointRequest): boolean {
  return isRecord(body) && body.background === true;
}

/**
 * Answers at once: with the queued response, or with the stream of its events. The client may leave. Throws `ApiError`
 * as `createResponse` does.
 */
export async function createInBackground(
  apiRequest: EndpointRequest,
  settings: RunSettings,
  { turns, runs, followers }: BackgroundParts,
  prepare: (request: EndpointRequest, life: Lifetime) => Promise<BackgroundTurn>,
): Promise<Reply | JsonReply> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const own: EndpointRequest = {
    ...apiRequest,
    signal,
    abort: (reason) => stopping.abort(reason),
    disconnect: undefined,
  };
  // Checked first: once the response exists, its stream may not be refused.
  const following = wantsStream(apiRequest) ? followers.begin(apiRequest) : undefined;
  let life: Lifetime | undefined;
  try {
    life = beginTurn(own, settings.limits.durationMs, turns);
    const prepared = await prepare(own, life);
    notify(settings.hooks, 'onRequest', prepared.info);
    const run = await startRun({ prepared, stopping }, settings);
    runs.add(run);
    return following ? replayOf(run, -1, apiRequest, following) : jsonReply({ ...prepared.started, status: 'queued' });
  } catch (error) {
    life?.leave();
    following?.leave();
    throw error;
  }
}

function wantsStream({ body }: EndpointRequest): boolean {
  return isRecord(body) && body.stream === true;
}

/**
 * The events after the number that the query names. Throws `ApiError` if they are not kept here, or there are too many
 * followers.
 */
export function replay(request: EndpointRequest, stored: StoredResponse, { runs, followers }: BackgroundParts): Reply {
  if (stored.resource.background !== true) {
    throw notStreamed('Only responses that are made in the background can be streamed again.');
  }
  const run = runs.find(stored);
  if (!run?.recording) {
    throw notStreamed(
      'The events of this response are not kept here: it was made without `stream`, elsewhere or long ago.',
    );
  }
  const after = startingAfter(request.query.starting_after);
  const following = followers.begin(request, stored.id);
  try {
    return replayOf(run, after, request, following);
  } catch (error) {
    following.leave();
    throw error;
  }
}

function replayOf({ recording, readerFor }: Run, after: number, reader: EndpointRequest, following: Lifetime): Reply {
  const events = recording?.after(after, readerFor(reader), following);
  if (!events) throw notStreamed('The events behind `starting_after` are no longer kept.');
  return streamReply(events);
}

function startingAfter(value: unknown): number {
  if (value === undefined || value === '') return -1;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  const message = "Invalid 'starting_after': it must be the sequence number of an event.";
  throw new ApiError('invalid_value', message, { param: 'starting_after' });
}

function notStreamed(message: string): ApiError {
  return new ApiError('unsupported_parameter', message, { param: 'stream' });
}

/**
 * The response, cancelled if it has not ended, on whichever node it runs; undefined if it was deleted meanwhile. Throws
 * `ApiError` for one that does not run in the background.
 */
export async function cancel(
  stored: StoredResponse,
  run: Run | undefined,
  store: ResponseStore,
): Promise<StoredResponse | undefined> {
  if (stored.resource.background !== true) {
    throw new ApiError('invalid_value', 'Cannot cancel a synchronous response.', { param: 'response_id' });
  }
  await run?.stop();
  const whole = (run?.output ?? []).filter(Boolean);
  return (await endRunning(store, stored, (running) => cancelled(running, whole))).now;
}

/**
 * The response as the client is shown it: one whose node is gone has failed, since no run can take longer than this.
 */
export function settled(stored: StoredResponse, durationMs: number): StoredResponse {
  if (!isRunning(stored) || Date.now() < stored.createdAt + durationMs + GRACE_MS) return stored;
  const error = responseError({ code: 'server_error', message: 'The server that made this response is gone.' });
  return { ...stored, resource: { ...stored.resource, status: 'failed', error } };
}
