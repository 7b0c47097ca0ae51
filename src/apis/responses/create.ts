/** `POST /responses`: one request, from its body to its answer. */

import type { Activity } from '../../ports/activity.ts';
import type { Call } from '../../ports/api-request.ts';
import { tell } from '../../ports/hooks.ts';
import { heartbeatOf } from '../../ports/prepare.ts';
import { ApiError } from '../../protocol/errors.ts';
import type { TurnEnd, TurnEvent } from '../../protocol/events.ts';
import { jsonReply, type Reply, streamReply } from '../../protocol/reply.ts';
import { endedResource } from '../../protocol/responses/resource.ts';
import { mapped, type Pieces } from '../../streams/pull-stream.ts';
import { withFirst } from '../../streams/with-first.ts';
import { beginTurn } from '../../turn/lifetime.ts';
import { errorOf } from '../../turn/observe.ts';
import { runTurn } from '../../turn/run-turn.ts';
import { type EncodeOptions, encodeBatch } from './encode.ts';
import { type PreparedTurn, prepareTurn } from './prepare-turn.ts';
import type { ResponsesApiSettings } from './settings.ts';

/** Answers one request. Throws `ApiError` for what the client is told with a status; the rest is in the answer. */
export async function createResponse(call: Call, settings: ResponsesApiSettings, turns: Activity): Promise<Reply> {
  const { hooks, limits } = settings;
  const life = beginTurn(call, limits.durationMs, turns);
  try {
    const prepared = await prepareTurn(call, settings, life);
    const { info, started, show, turn } = prepared;
    tell(hooks, 'onRequest', info);
    const batches = runTurn(turn);
    const ownedTools = turn.plan.owners;
    if (!info.stream) return { ownedTools, ...jsonReply(endedResource(started, await lastEvent(batches), show)) };
    return { ownedTools, ...streamReply(await frames(batches, encodingOf(prepared, call, settings))) };
  } catch (error) {
    life.leave();
    throw error;
  }
}

/** How the turn's events are spelled. */
export function encodingOf({ started, show }: PreparedTurn, call: Call, settings: ResponsesApiSettings): EncodeOptions {
  const keepalive = heartbeatOf(call, settings).style === 'ping' ? 'ping' : 'keepalive';
  return { started, reasoning: settings.reasoning, show, keepalive };
}

/** The end of the turn; one that failed before it said anything is answered with its error's status. */
async function lastEvent(batches: AsyncIterable<readonly TurnEvent[]>): Promise<TurnEnd> {
  let end: TurnEnd | undefined;
  for await (const batch of batches) {
    const last = batch.at(-1);
    if (last?.type === 'turn-end') end = last;
  }
  if (!end) throw new ApiError('request_aborted', 'The request was aborted.');
  if (end.error && end.output.length === 0) throw errorOf(end.error);
  return end;
}

type Batches = Pieces<readonly TurnEvent[]>;

/** The frames. The first batch is waited for, so that a refusal still has its own status. */
async function frames(batches: Batches, options: EncodeOptions): Promise<Pieces<string>> {
  const all = mapped(batches, { map: (batch) => encodeBatch(batch, options) });
  return withFirst(await all.next(), all);
}
