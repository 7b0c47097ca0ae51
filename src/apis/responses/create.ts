/** `POST /responses`: one request, from its body to its answer. */

import { type Budgeted, withBudget } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime, withinTurn } from '../../engine/turn/lifetime.ts';
import { turnApiError } from '../../engine/turn/observe.ts';
import { readTurnEnd, runTurn } from '../../engine/turn/run-turn.ts';
import { notify } from '../../ports/hooks.ts';
import { withResponse } from '../../protocol/errors.ts';
import type { TurnEvent } from '../../protocol/events.ts';
import { type JsonReply, jsonReply, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { endedResource } from '../../protocol/responses/resource.ts';
import { queryPresenter } from '../../protocol/tool-calls/kinds.ts';
import { mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { withFirst } from '../../streams/with-first.ts';
import type { Encoder } from './encoding/encoder.ts';
import { type PreparedTurn, prepareTurn } from './prepare-turn.ts';
import { encoderFactory, responseFields } from './response-encoders.ts';
import type { TurnDurability } from './turn/response-start.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';

/** A running response. Its first events have arrived, so that a refusal still has its own status. */
export interface LiveResponse {
  /** The response's id. */
  readonly id: string;
  readonly events: PullStream<readonly TurnEvent[]>;
  /** Encodes them for the requesting client. */
  readonly encoder: Encoder;
  /** As of the prepared turn. */
  readonly agents?: PreparedTurn['agents'];
}

/** Answers one request. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export function createResponse(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<Reply | JsonReply> {
  return withPreparedTurn(request, settings, turns, async (prepared, headers): Promise<Reply | JsonReply> => {
    const { info, started, include, turn } = prepared;
    if (info.stream) {
      const { events, encoder } = await openTurn(prepared, request, settings);
      return withHeaders(streamReply(mapStream(events, { map: (batch) => encoder.frames(batch) })), headers);
    }
    const end = await readTurnEnd(runTurn(turn));
    // A turn that failed before any output is answered with its error's status.
    if (end.error && end.output.length === 0) throw turnApiError(end.error);
    return withHeaders(jsonReply(endedResource(started, end, queryPresenter(request.query, false, include))), headers);
  });
}

/** Starts to answer a request whose events are not sent as an SSE stream. Throws `ApiError`. */
export function openResponse(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
): Promise<LiveResponse> {
  return withPreparedTurn(request, settings, turns, (prepared) => openTurn(prepared, request, settings));
}

/** Prepares the turn when it may run, and answers; the turn is over if either fails. */
async function withPreparedTurn<Answer>(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  turns: Activity,
  answer: (prepared: PreparedTurn, headers: Budgeted<unknown>['headers']) => Promise<Answer>,
): Promise<Answer> {
  const life = beginTurn(request, settings.limits.durationMs, turns);
  // The id alone: while the model answers nothing here holds the turn, whose history may be freed.
  let responseId: string | undefined;
  try {
    const { prepared, headers } = await withinTurn(life, () => prepareCharged(request, settings, life));
    responseId = prepared.info.responseId;
    notify(settings.hooks, 'onRequest', prepared.info);
    return await answer(prepared, headers);
  } catch (error) {
    life.leave();
    throw withResponse(error, responseId);
  }
}

/** The turn, taken from its tenant's budget, and the headers that show the client the rest. */
async function prepareCharged(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  life: Lifetime,
  durability: TurnDurability = {},
) {
  const { settings: charged, headers } = await withBudget(request, settings, life, durability.resumed !== undefined);
  return { prepared: await prepareTurn(request, charged, life, durability), headers };
}

async function openTurn(
  prepared: PreparedTurn,
  request: EndpointRequest,
  settings: ResponsesApiSettings,
): Promise<LiveResponse> {
  // First, since the host's choice of a dialect may throw: nobody would close the turn.
  const encoder = encoderFactory(responseFields(prepared), settings)(request);
  const batches = runTurn(prepared.turn);
  const { info, agents } = prepared;
  const events = withFirst(await batches.next(), batches);
  return { id: info.responseId, events, encoder, ...(agents ? { agents } : {}) };
}

/** A turn that runs in the background, and the encoding of its events for each reader. Throws `ApiError`. */
export async function prepareForBackground(
  request: EndpointRequest,
  settings: ResponsesApiSettings,
  life: Lifetime,
  durability: TurnDurability,
) {
  const { prepared, headers } = await untilAborted(life.signal, () =>
    prepareCharged(request, settings, life, durability),
  );
  return { ...prepared, readerFor: encoderFactory(responseFields(prepared), settings), headers };
}
