/** `background: true`, and the operations on such a response: wait for it, stream it and cancel it. */

import { restorePendingCalls } from '../../engine/approvals/pending-call.ts';
import { withdrawTurn } from '../../engine/history/conversation.ts';
import { endRunning, withExpiry } from '../../engine/history/keep-turn.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import { notify } from '../../ports/hooks.ts';
import { fromStore, type ResponseStore, type StoredResponse } from '../../ports/store.ts';
import type { WantedHeartbeat } from '../../ports/turn-context.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isRecord } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { requestHeartbeat } from '../endpoint/prepare.ts';
import type { BackgroundRuns } from './background-runs.ts';
import type { Followers } from './followers.ts';
import type { BackgroundTurn, Run, RunSettings } from './run.ts';

/** A router's background responses, and the clients that follow them. */
interface BackgroundParts {
  readonly turns: Activity;
  readonly background: BackgroundRuns;
  readonly followers: Followers;
}

/** The host's options that these endpoints need. */
interface BackgroundEndpointSettings extends RunSettings {
  readonly heartbeat: WantedHeartbeat;
}

type Prepare = (request: EndpointRequest, life: Lifetime, isLogged: boolean) => Promise<BackgroundTurn>;

/**
 * Answers at once: with the queued response, or with the stream of its events. The client may leave. Throws `ApiError`
 * as `createResponse` does.
 */
export async function createInBackground(
  request: EndpointRequest,
  settings: BackgroundEndpointSettings,
  parts: BackgroundParts,
  prepare: Prepare,
): Promise<Reply | JsonReply> {
  const { prepared, following, ...begun } = await beginRun(request, settings, parts, { prepare, isForeground: false });
  const reply = following
    ? replayReply(begun.run, request, { after: -1, following, settings, parts })
    : jsonReply({ ...prepared.started, status: 'queued' });
  return withHeaders(reply, prepared.headers);
}

/**
 * Answers with the stream of a response that goes on without its client. Throws `ApiError` as `createResponse` does,
 * the model server's refusal included.
 */
export async function createDurable(
  request: EndpointRequest,
  settings: BackgroundEndpointSettings,
  parts: BackgroundParts,
  prepare: Prepare,
): Promise<Reply> {
  const { run, isHere, following, prepared } = await beginRun(request, settings, parts, {
    prepare,
    isForeground: true,
  });
  // The cast: such a request wants a stream.
  const life = following as Lifetime;
  try {
    if (isHere) await run.begun;
    return withHeaders(replayReply(run, request, { after: -1, following: life, settings, parts }), prepared.headers);
  } catch (error) {
    life.leave();
    throw error;
  }
}

async function beginRun(
  request: EndpointRequest,
  settings: BackgroundEndpointSettings,
  { turns, background, followers }: BackgroundParts,
  { prepare, isForeground }: { readonly prepare: Prepare; readonly isForeground: boolean },
) {
  const stopping = new AbortController();
  const { signal } = stopping;
  const abort = (reason: ApiError) => stopping.abort(reason);
  const runRequest: EndpointRequest = { ...request, signal, abort, disconnect: undefined };
  // Checked first: once the response exists, its stream may not be refused.
  const { body } = request;
  const following = isRecord(body) && body.stream === true ? followers.begin(request) : undefined;
  let life: Lifetime | undefined;
  try {
    life = beginTurn(runRequest, settings.limits.durationMs, turns, !isForeground);
    const { place } = life;
    // In the background it is answered at once, and waits then. Until its stream begins it ends with its client.
    if (isForeground && place) await untilAborted(request.signal, () => place);
    const prepared = await prepare(runRequest, life, background.log !== undefined);
    notify(settings.hooks, 'onRequest', prepared.info);
    const { stored, preparation } = prepared;
    const begun = await background.begin({ request, prepared, stopping, isForeground }).catch(async (error) => {
      // What will never run can be approved again: another process may still begin a response that is stored.
      const { scope, id } = stored;
      const left = await fromStore(() => settings.store.get({ scope, id })).catch(() => stored);
      if (!left) await restorePendingCalls(settings.store, scope, preparation.approved ?? []);
      throw error;
    });
    return { ...begun, prepared, following };
  } catch (error) {
    life?.leave();
    following?.leave();
    throw error;
  }
}

/**
 * The events after the number that the query names. Throws `ApiError` if they are not kept here, or there are too many
 * followers.
 */
export async function replayEvents(
  request: EndpointRequest,
  stored: StoredResponse,
  settings: BackgroundEndpointSettings,
  parts: BackgroundParts & { readonly readerOf: ReaderOf },
): Promise<Reply> {
  const { background, followers, readerOf } = parts;
  const run = background.runs.find(stored) ?? (await findLoggedRun(stored, background, readerOf));
  const after = readStartingAfter(request.query.starting_after);
  const following = followers.begin(request, stored.id);
  return replayReply(run, request, { after, following, settings, parts });
}

/** Creates a reader of the events of a stored response. */
type ReaderOf = (stored: StoredResponse) => BackgroundTurn['readerFor'];

/** What a replay needs of a run. */
type ReplayedRun = Pick<Run, 'key' | 'recording' | 'isLogged' | 'readerFor'>;

/** Throws `unsupported_parameter` or `events_expired` if the events are not in the log. */
async function findLoggedRun(
  stored: StoredResponse,
  { log }: BackgroundRuns,
  readerOf: ReaderOf,
): Promise<ReplayedRun> {
  const { background, logged } = stored.resource;
  if (background !== true && logged === undefined)
    throw cannotStream('Only responses that are made in the background can be streamed again.');
  const { scope, id } = stored;
  const [head] = logged !== undefined && log ? await fromStore(() => log.heads([{ scope, id }])) : [];
  if (head) return { key: { scope, id }, recording: undefined, isLogged: true, readerFor: readerOf(stored) };
  if (logged === undefined || !log) throw cannotStream(EVENTS_GONE);
  const message = 'The events of this response are no longer kept. The response itself can be retrieved.';
  throw new ApiError('events_expired', message, { param: 'stream' });
}

/** How the events are read, and by whom. */
interface ReplayReading {
  readonly after: number;
  readonly following: Lifetime;
  readonly settings: BackgroundEndpointSettings;
  readonly parts: BackgroundParts;
}

/** The stream ends the following; where there is none, this does. */
function replayReply(
  { key, recording, isLogged, readerFor }: ReplayedRun,
  request: EndpointRequest,
  { after, following, settings, parts }: ReplayReading,
): Reply {
  try {
    const reader = readerFor(request);
    const heartbeatMs = requestHeartbeat(request, settings).intervalMs;
    const logged = isLogged && parts.background.follow(key, { after, reader, life: following, heartbeatMs });
    if (logged) return streamReply(logged);
    if (!recording) throw cannotStream(EVENTS_GONE);
    const events = recording.after(after, reader, following);
    if (!events) throw cannotStream('The events behind `starting_after` are no longer kept.');
    return streamReply(events);
  } catch (error) {
    following.leave();
    throw error;
  }
}

const EVENTS_GONE =
  'The events of this response are not kept here: it was made without `stream`, elsewhere or long ago.';

function readStartingAfter(value: unknown): number {
  if (value === undefined || value === '') return -1;
  if (typeof value === 'string' && /^\d{1,15}$/.test(value)) return Number(value);
  const message = "Invalid 'starting_after': it must be the sequence number of an event.";
  throw new ApiError('invalid_value', message, { param: 'starting_after' });
}

function cannotStream(message: string): ApiError {
  return new ApiError('unsupported_parameter', message, { param: 'stream' });
}

/**
 * The response, cancelled if it has not ended, on whichever node it runs; undefined if it was deleted meanwhile. Throws
 * `ApiError` for one that does not run in the background.
 */
export async function cancelResponse(
  stored: StoredResponse,
  background: BackgroundRuns,
  store: ResponseStore,
): Promise<StoredResponse | undefined> {
  if (stored.resource.background !== true) {
    throw new ApiError('invalid_value', 'Cannot cancel a synchronous response.', { param: 'response_id' });
  }
  const run = background.runs.find(stored);
  await run?.stop();
  // The log also has what processes before this one have finished, and nothing that nobody was shown.
  const shown = run?.isLogged === false ? [] : await background.readOutput(stored);
  const output = (shown.length > 0 ? shown : (run?.output ?? [])).filter(Boolean);
  const { now, isEnded } = await endRunning(store, stored, (running) =>
    withExpiry({ ...running, output, resource: { ...running.resource, status: 'cancelled' } }),
  );
  if (now && isEnded) await withdrawTurn(store, now);
  // Also where an earlier request has ended it, which may have failed here.
  if (now?.resource.status === 'cancelled') await background.endEvents(now);
  return now;
}
