/** `POST /responses`: one request, from its body to its answer. */

import { type Budgeted, budgeted } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import { errorOf } from '../../engine/turn/observe.ts';
import { endOf, runTurn } from '../../engine/turn/run-turn.ts';
import { notify } from '../../ports/hooks.ts';
import type { StoredResponse } from '../../ports/store.ts';
import type { TurnEnd, TurnEvent } from '../../protocol/events.ts';
import { isPromise, isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { endedResource } from '../../protocol/responses/resource.ts';
import { itemPresenter } from '../../protocol/tool-calls/kinds.ts';
import { mapped, type PullStream } from '../../streams/pull-stream.ts';
import { withFirst } from '../../streams/with-first.ts';
import { heartbeatOf } from '../endpoint/prepare.ts';
import { Encoder, type EncoderOptions } from './encoding/encoder.ts';
import { type PreparedTurn, prepareTurn, type TurnWay } from './prepare-turn.ts';
import type { ResponsesApiSettings } from './settings.ts';

/** A running response. Its first events have arrived, so that a refusal still has its own status. */
export interface LiveResponse {
  /** The response's id. */
  readonly id: string;
  readonly events: PullStream<readonly TurnEvent[]>;
  /** Encodes them for the requesting client. */
  readonly encoder: Encoder;
}

/** Answers one request. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export async function createResponse(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<Reply | JsonReply> {
  return began(request, settings, turns, async (prepared, headers) => {
    const { info, started, presentItem, turn } = prepared;
    if (!info.stream) {
      const resource = endedResource(started, await lastEvent(runTurn(turn)), presentItem);
      return withHeaders(jsonReply(resource), headers);
    }
    const { events, encoder } = await live(prepared, request, settings);
    return withHeaders(streamReply(mapped(events, { map: (batch) => encoder.frames(batch) })), headers);
  });
}

/** Starts to answer a request whose events are not sent as an SSE stream. Throws `ApiError`. */
export function openResponse(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<LiveResponse> {
  return began(request, settings, turns, (prepared) => live(prepared, request, settings));
}

async function began<Answer>(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
  answer: (prepared: PreparedTurn, headers: Budgeted<unknown>['headers']) => Promise<Answer>,
): Promise<Answer> {
  const life = beginTurn(request, settings.limits.durationMs, turns);
  try {
    if (life.place) await life.place;
    const given = budgeted(request, settings, life);
    const { settings: own, headers } = isPromise(given) ? await given : given;
    const prepared = await prepareTurn(request, own, life);
    notify(settings.hooks, 'onRequest', prepared.info);
    return await answer(prepared, headers);
  } catch (error) {
    life.leave();
    throw error;
  }
}

async function live(
  prepared: PreparedTurn,
  request: EndpointRequest,
  settings: ResponsesApiSettings,
): Promise<LiveResponse> {
  // First, since the host's choice of a dialect may throw: nobody would close the turn.
  const encoder = new Encoder(encoding(prepared, request, settings));
  const batches = runTurn(prepared.turn);
  return { id: prepared.info.responseId, events: withFirst(await batches.next(), batches), encoder };
}

function encoding(
  { started, presentItem, turn }: PreparedTurn,
  request: EndpointRequest,
  settings: ResponsesApiSettings,
): EncoderOptions {
  return { ...spelling(request, settings), started, presentItem, isServerTool: serverToolsOf(turn.plan.owners) };
}

function serverToolsOf(owners: { has(name: string): boolean }): (name: string) => boolean {
  return (name) => owners.has(name);
}

/** The encoding settings that depend on the reader. */
function spelling(reader: EndpointRequest, settings: ResponsesApiSettings) {
  const keepalive = heartbeatOf(reader, settings).style === 'ping' ? 'ping' : 'keepalive';
  return { reasoning: settings.reasoning, keepalive, dialect: settings.dialectOf(reader.request) } as const;
}

/** A turn that runs in the background, and the encoding of its events for each reader. Throws `ApiError`. */
export async function prepareForBackground(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  life: Lifetime,
  way: TurnWay,
) {
  const given = budgeted(request, settings, life, way.resumed !== undefined);
  const { settings: own, headers } = isPromise(given) ? await given : given;
  const prepared = await prepareTurn(request, own, life, way);
  const { started, presentItem, turn } = prepared;
  const readerFor = readers({ started, presentItem, isServerTool: serverToolsOf(turn.plan.owners) }, settings);
  return { ...prepared, readerFor, headers };
}

/** The encoding of the events of a response that this process did not prepare. */
export function readersOf(
  { resource }: StoredResponse,
  settings: ResponsesApiSettings,
): (reader: EndpointRequest) => Encoder {
  const { logged, requested, ...ended } = resource;
  const nothing = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null, usage: null };
  const started = { ...ended, ...(isRecord(requested) ? requested : {}), ...nothing, output: [] };
  const presentItem = itemPresenter(isRecord(logged) ? logged.include : undefined);
  const tools = (Array.isArray(resource.tools) ? resource.tools : []) as readonly JsonObject[];
  const clientNames = new Set(tools.map(({ name }) => name));
  return readers({ started, presentItem, isServerTool: (name) => !clientNames.has(name) }, settings);
}

/** A separate function, so that a response that has ended retains nothing of its request. */
function readers(
  response: Pick<EncoderOptions, 'started' | 'presentItem' | 'isServerTool'>,
  settings: ResponsesApiSettings,
): (reader: EndpointRequest) => Encoder {
  return (reader) => new Encoder({ ...spelling(reader, settings), ...response });
}

/** The end of the turn; one that failed before any output is answered with its error's status. */
async function lastEvent(batches: AsyncIterable<readonly TurnEvent[]>): Promise<TurnEnd> {
  const end = await endOf(batches);
  if (end.error && end.output.length === 0) throw errorOf(end.error);
  return end;
}
