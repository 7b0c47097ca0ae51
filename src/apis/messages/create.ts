/** `POST /v1/messages`: one request, from its body to its answer. */

import { budgeted } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import { errorOf } from '../../engine/turn/observe.ts';
import { endOf, runTurn } from '../../engine/turn/run-turn.ts';
import { notify } from '../../ports/hooks.ts';
import { speaksMessages, stateOwnerOf } from '../../ports/upstream.ts';
import { anthropicError } from '../../protocol/anthropic/envelope.ts';
import { textWithInputs } from '../../protocol/anthropic/tool-inputs.ts';
import type { TurnEnd, TurnEvent } from '../../protocol/events.ts';
import { seedOf } from '../../protocol/ids.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { isUnreadable } from '../../protocol/tool-calls/call-arguments.ts';
import { toolCallKind, writtenKind } from '../../protocol/tool-calls/kinds.ts';
import { withHeartbeats } from '../../streams/heartbeats.ts';
import { mapped, type PullStream } from '../../streams/pull-stream.ts';
import { withFirst } from '../../streams/with-first.ts';
import { heartbeatOf, noteOf } from '../endpoint/prepare.ts';
import { frameOf, MessagesEncoder, PING } from './encoder.ts';
import { sealHidden, sealThought } from './hidden-items.ts';
import { type MessageFacts, thoughtText, wholeMessage } from './message.ts';
import { passThrough } from './pass-through.ts';
import {
  holdsOwnBlocks,
  inItems,
  type RequestWithTools,
  thinkingDisplay,
  withOwnSettings,
  withTools,
} from './prepare.ts';
import { isServerCall } from './server-calls.ts';
import type { MessagesSettings } from './settings.ts';

/** Answers one request. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export async function createMessage(
  request: EndpointRequest,
  settings: MessagesSettings,
  turns: Activity,
): Promise<Reply | JsonReply> {
  const life = beginTurn(request, settings.limits.durationMs, turns);
  try {
    if (life.place) await life.place;
    const { settings: charged, headers } = await budgeted(request, settings, life);
    const own = { ...charged, heartbeat: heartbeatOf(request, settings) };
    const prepared = await withTools({ ...request, signal: life.signal }, own);
    if (passesThrough(prepared, own))
      return withHeaders(await passThrough(prepared.body, { ...request, signal: life.signal }, own, life), headers);
    return withHeaders(await answer(prepared, own, life), headers);
  } catch (error) {
    life.leave();
    throw error;
  }
}

/** Whether Anthropic's own server may have the request as it is, and the client its answer. */
function passesThrough({ toolset, body, request }: RequestWithTools, { upstream, guards }: MessagesSettings): boolean {
  if (!speaksMessages(upstream, body.model) || guards || request.context?.guards) return false;
  return toolset.size === 0 && !holdsOwnBlocks(body);
}

async function answer(
  prepared: RequestWithTools,
  settings: MessagesSettings,
  life: Lifetime,
): Promise<Reply | JsonReply> {
  const { body, request } = prepared;
  const { info, turn } = await settings.pipeline.prepareTurn(inItems(prepared, settings), life, settings.upstream);
  notify(settings.hooks, 'onRequest', info);
  const facts = factsOf(prepared, settings, info.responseId);
  const takeRequest = () => withOwnSettings(turn.takeRequest(), body);
  // Of a thought that is not shown nothing is sent, so its idle time is that of the frames.
  const { openAfterMs, intervalMs } = turn.silence;
  const beatsLater = !facts.showsThoughts;
  const silence = { openAfterMs, intervalMs: beatsLater ? undefined : intervalMs };
  const batches = runTurn({ ...turn, takeRequest, silence });
  if (!info.stream) {
    const end = await lastEvent(batches);
    for (const item of end.output)
      if (item.type === 'function_call' && isUnreadable(item.arguments))
        noteOf(request, settings)(skippedArguments(item.name));
    return messageReply(wholeMessage(end, facts));
  }
  const encoder = new MessagesEncoder(facts, (error) => {
    // The cast: an error's data always has a type.
    return anthropicError(errorOf(error), request.requestId) as { readonly type: string };
  });
  const events = withFirst(await batches.next(), batches);
  const frames = mapped(events, { map: (batch) => encoder.frames(batch) || undefined });
  return streamReply(beatsLater ? withPings(frames, intervalMs) : frames);
}

/** Numbers in the inputs of tools keep all their digits. */
function messageReply(message: JsonObject): Reply {
  const { status, headers } = jsonReply(message);
  return { status, headers, body: textWithInputs(message) };
}

/** A stream has the text itself. */
function skippedArguments(name: string): Note {
  const message = `The model's arguments for '${name.slice(0, MAX_NAME)}' are no JSON object; the message holds them as a text in one.`;
  return { code: 'arguments_wrapped', message };
}

const MAX_NAME = 64;

/** A ping for every idle interval, in milliseconds; undefined for none. */
function withPings(frames: PullStream<string>, intervalMs: number | undefined): PullStream<string> {
  const paced = withHeartbeats(frames, { intervalMs, openAfterMs: undefined });
  return mapped(paced, { map: (sent) => (typeof sent === 'string' ? sent : frameOf(PING)) });
}

function factsOf(
  { body, request, tools }: RequestWithTools,
  { toolItems, stateSealer, upstream, guards }: MessagesSettings,
  responseId: string,
): MessageFacts {
  const servers = new Set(tools.map(({ server_label: label }) => label));
  const hosted = new Set(tools.map(({ type }) => type));
  const isNamed = (item: OutputItem) =>
    item.type === 'mcp_call' ? servers.has(item.server_label) : hosted.has(writtenKind(item)?.tool);
  const showsThoughts = thinkingDisplay(body) !== 'omitted';
  const isShown = (item: OutputItem) =>
    isServerCall(item) ? toolItems === 'shown' || isNamed(item) || ranUpstream(item) : OWN_TYPES.has(item.type);
  return {
    id: `msg_${seedOf(responseId)}`,
    model: body.model,
    // The cast: it has been checked.
    stopSequences: new Set((body.stop_sequences ?? []) as readonly string[]),
    isShown,
    sealHidden: (output) => sealHidden(output, (item) => isHidden(item) && !isShown(item), stateSealer, request.scope),
    stateOf: (item) => {
      // Guards have not read it.
      if (guards || request.context?.guards || !('encrypted_content' in item)) return undefined;
      const bound = [request.scope, stateOwnerOf(upstream, body.model)];
      const state = stateSealer.open(item.encrypted_content, bound);
      return isRecord(state) && 'routedOwner' in state ? state.state : state;
    },
    showsThoughts,
    sealThought: (item) => {
      if (!showsThoughts) return sealThought(item, stateSealer, request.scope);
      // What leads back to a server's own thought needs no second seal, and nothing leads back to no thought.
      if (item.encrypted_content !== undefined) return item.encrypted_content;
      return thoughtText(item) === '' ? undefined : sealThought(item, stateSealer, request.scope);
    },
  };
}

const OWN_TYPES: ReadonlySet<string> = new Set(['message', 'reasoning', 'function_call']);

/** Whether the model's own server has run the call. */
function ranUpstream(item: OutputItem): boolean {
  return toolCallKind(item)?.runBy === 'upstream';
}

/** Whether the item gives the model something that the client cannot send back. */
function isHidden(item: OutputItem): boolean {
  return toolCallKind(item)?.runBy === 'server' || item.type === 'tool_search_output';
}

/** The end of the turn; a message has no place for a failure. */
async function lastEvent(batches: AsyncIterable<readonly TurnEvent[]>): Promise<TurnEnd> {
  const end = await endOf(batches);
  if (end.error) throw errorOf(end.error);
  return end;
}
