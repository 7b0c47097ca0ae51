/** `POST /v1/messages`: one request, from its body to its answer. */

import { withBudget } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime, withinTurn } from '../../engine/turn/lifetime.ts';
import { failedTurn, turnApiError } from '../../engine/turn/observe.ts';
import { readTurnEnd, runTurn } from '../../engine/turn/run-turn.ts';
import { notify } from '../../ports/hooks.ts';
import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { withResponse } from '../../protocol/errors.ts';
import { type JsonReply, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { withHeartbeats } from '../../streams/heartbeats.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import { withFirst } from '../../streams/with-first.ts';
import { noteReporter, requestHeartbeat } from '../endpoint/prepare.ts';
import { MessagesEncoder, messageFrame, PING } from './encoder.ts';
import { messageReply, noteWrappedArguments } from './message.ts';
import { messageFacts } from './message-facts.ts';
import { passThrough } from './pass-through.ts';
import {
  passingUpstream,
  prepareMessages,
  type RequestWithTools,
  toItemsRequest,
  withMessagesSettings,
} from './prepare.ts';
import type { MessagesSettings } from './settings.ts';

/** Answers one request. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export async function createMessage(
  request: EndpointRequest,
  settings: MessagesSettings,
  turns: Activity,
): Promise<Reply | JsonReply> {
  const life = beginTurn(request, settings.limits.durationMs, turns);
  try {
    const heartbeat = requestHeartbeat(request, settings);
    const own = { ...request, signal: life.signal };
    const { charged, headers, prepared } = await withinTurn(life, async () => {
      const { settings: budgeted, headers } = await withBudget(request, settings, life);
      const charged = { ...budgeted, heartbeat };
      return { charged, headers, prepared: await prepareMessages(own, charged) };
    });
    const upstream = passingUpstream(prepared, charged);
    const reply = upstream
      ? await passThrough(prepared.body, own, { ...charged, upstream }, life.leave)
      : await runMessage(prepared, charged, life);
    return withHeaders(reply, headers);
  } catch (error) {
    life.leave();
    throw error;
  }
}

/** Answers by a turn over the request in items. */
async function runMessage(prepared: RequestWithTools, settings: MessagesSettings, life: Lifetime): Promise<Reply> {
  const { request } = prepared;
  const { body, info, turn } = await withinTurn(life, async () => {
    const { body, itemsRequest } = await toItemsRequest(prepared, settings);
    return { body, ...(await settings.pipeline.prepareTurn(itemsRequest, life, settings.upstream)) };
  });
  notify(settings.hooks, 'onRequest', info);
  const facts = messageFacts({ ...prepared, body }, settings, info.responseId);
  const takeRequest = () => withMessagesSettings(turn.takeRequest(), body);
  // Of a thought that is not shown nothing is sent, so its idle time is that of the frames.
  const { openAfterMs, intervalMs } = turn.silence;
  const hasLateBeats = !facts.showsThoughts;
  const silence = { openAfterMs, intervalMs: hasLateBeats ? undefined : intervalMs };
  const batches = runTurn({ ...turn, takeRequest, silence });
  if (!info.stream) {
    const end = await readTurnEnd(batches);
    // A message has no place for a failure.
    if (end.error) throw withResponse(failedTurn(turnApiError(end.error), end.output), info.responseId);
    noteWrappedArguments(end.output, noteReporter(request, settings, info.responseId));
    return messageReply(end, facts);
  }
  const encoder = new MessagesEncoder(facts, (error) => {
    // The cast: an error's data always has a type.
    return anthropicError(turnApiError(error), request.requestId) as { readonly type: string };
  });
  const refused = (error: unknown) => {
    throw withResponse(error, info.responseId);
  };
  const events = withFirst(await batches.next().catch(refused), batches);
  const frames = mapStream(events, { map: (batch) => encoder.frames(batch) || undefined });
  if (!hasLateBeats) return streamReply(frames);
  const paced = withHeartbeats(frames, { intervalMs, openAfterMs: undefined });
  return streamReply(mapStream(paced, { map: (sent) => (typeof sent === 'string' ? sent : messageFrame(PING)) }));
}
