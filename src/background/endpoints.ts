/** `background: true`, and what a client can do with such a response: wait for it, watch it and cancel it. */

import { encoding } from '../apis/responses/create.ts';
import { prepareTurn } from '../apis/responses/prepare-turn.ts';
import type { Activity } from '../ports/activity.ts';
import type { Call } from '../ports/api-request.ts';
import { tell } from '../ports/hooks.ts';
import { fromStore, isRunning, type ResponseStore, type StoredResponse } from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { isRecord } from '../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, streamReply } from '../protocol/reply.ts';
import type { CoreSettings } from '../server/options.ts';
import { beginTurn } from '../turn/lifetime.ts';
import { cancelled, type Run, startRun } from './run.ts';
import type { Runs } from './runs.ts';

/** What a node that died leaves is over by then, in milliseconds after its time was up. */
const GRACE_MS = 60_000;

/** Whether the request wants its response made in the background. */
export function wantsBackground({ body }: Call): boolean {
  return isRecord(body) && body.background === true;
}

/**
 * Answers at once: with the response as it is queued, or with the stream of its events. The client may leave. Throws
 * `ApiError` as `createResponse` does.
 */
export async function createInBackground(
  call: Call,
  settings: CoreSettings,
  turns: Activity,
  runs: Runs,
): Promise<Reply | JsonReply> {
  const stopping = new AbortController();
  const { signal } = stopping;
  const own: Call = { ...call, signal, abort: (reason) => stopping.abort(reason), disconnect: undefined };
  const life = beginTurn(own, settings.limits.durationMs, turns);
  try {
    const prepared = await prepareTurn(own, settings, life);
    tell(settings.hooks, 'onRequest', prepared.info);
    const run = await startRun({ prepared, encoding: encoding(prepared, call, settings), stopping }, settings);
    runs.add(run);
    return run.recording ? replayOf(run, -1) : jsonReply({ ...prepared.started, status: 'queued' });
  } catch (error) {
    life.leave();
    throw error;
  }
}

/** The events behind the number that the query names. Throws `ApiError` where they are not kept here. */
export function replay({ query }: Call, stored: StoredResponse, run: Run | undefined): Reply {
  if (stored.resource.background !== true) {
    throw notStreamed('Only responses that are made in the background can be streamed again.');
  }
  if (!run?.recording) {
    throw notStreamed(
      'The events of this response are not kept here: it was made without `stream`, elsewhere or long ago.',
    );
  }
  return replayOf(run, startingAfter(query.starting_after));
}

function replayOf({ recording }: Run, after: number): Reply {
  const events = recording?.after(after);
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
 * The response, which is cancelled where it has not ended, on whichever node it is made. Throws `ApiError` for one that
 * is not made in the background.
 */
export async function cancel(
  stored: StoredResponse,
  run: Run | undefined,
  store: ResponseStore,
): Promise<StoredResponse> {
  if (stored.resource.background !== true) {
    throw new ApiError('invalid_value', 'Cannot cancel a synchronous response.', { param: 'response_id' });
  }
  await run?.stop();
  // It may have ended, now or long ago, or have been deleted.
  const now = await fromStore(() => store.get(stored));
  if (!now || !isRunning(now)) return now ?? stored;
  const ended = cancelled(now, (run?.output ?? []).filter(Boolean));
  await fromStore(() => store.put(ended));
  return ended;
}

/** The response as it is shown: one whose node is gone has failed, since it cannot take longer than this. */
export function settled(stored: StoredResponse, durationMs: number): StoredResponse {
  if (!isRunning(stored) || Date.now() < stored.createdAt + durationMs + GRACE_MS) return stored;
  const error = { code: 'server_error', message: 'The server that made this response is gone.' };
  return { ...stored, resource: { ...stored.resource, status: 'failed', error } };
}
