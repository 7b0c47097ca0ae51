/** `POST /chat/completions`: one request, from its body to its answer. */

import { budgeted } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import { type EndpointRequest, hasLeft } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime } from '../../engine/turn/lifetime.ts';
import { upstreamInfo } from '../../engine/turn/observe.ts';
import { type Hooks, notify, observed, type RequestInfo, type UpstreamInfo } from '../../ports/hooks.ts';
import { costIn, readUsage } from '../../protocol/chat-completions/usage.ts';
import { toApiError } from '../../protocol/errors.ts';
import { NO_USAGE } from '../../protocol/events.ts';
import { isPromise } from '../../protocol/record.ts';
import { type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { type Silence, withHeartbeats } from '../../streams/heartbeats.ts';
import { inTurn, mapped, type PullStream } from '../../streams/pull-stream.ts';
import { DONE_FRAME, HEARTBEAT_FRAME } from '../../streams/sse-frames.ts';
import { withFirst } from '../../streams/with-first.ts';
import { silenceOf } from '../endpoint/prepare.ts';
import { type Completion, chunkFrame } from './completion/completion.ts';
import { type ChatSettings, prepareChat } from './prepare-chat.ts';
import { type ChatTurn, chatAnswer, chatSources } from './run-chat.ts';

/** Answers one request. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export async function createChatCompletion(
  request: EndpointRequest,
  settings: ChatSettings,
  turns: Activity,
): Promise<Reply> {
  const { hooks, limits } = settings;
  const life = beginTurn(request, limits.durationMs, turns);
  let turn: ChatTurn | undefined;
  try {
    if (life.place) await life.place;
    const given = budgeted(request, settings, life);
    const { settings: own, headers } = isPromise(given) ? await given : given;
    turn = await prepareChat(request, own, life.signal);
    const notifyEnd = endNotifier(turn, request, hooks);
    if (!turn.body.stream) return withHeaders(await wholeReply(turn, notifyEnd, life), headers);
    const frames = guarded(turn, notifyEnd, life, { settings, silence: silenceOf(request, settings) });
    // Awaits the first piece, so that a refusal until then has its own status.
    return withHeaders(streamReply(withFirst(await frames.next(), frames)), headers);
  } catch (error) {
    life.leave();
    throw redacted(error, settings, turn);
  }
}

/** Errors in the model server's own answer may contain its secrets. */
function redacted(error: unknown, { upstream }: ChatSettings, turn: ChatTurn | undefined): unknown {
  return upstream.redact?.(error, turn?.call) ?? error;
}

async function wholeReply(turn: ChatTurn, notifyEnd: NotifyEnd, life: Lifetime): Promise<Reply> {
  const body = await chatAnswer(turn);
  turn.record?.takeWhole(body);
  await turn.record?.keep();
  notifyEnd('completed');
  life.leave();
  return { status: 200, headers: { 'content-type': 'application/json; charset=utf-8' }, body };
}

type NotifyEnd = (status: 'completed' | 'failed') => void;

/**
 * Reports the request to the host now, and returns a function that reports its end. The id is the request's: the model
 * server's arrives later.
 */
function endNotifier({ body, completion, call }: ChatTurn, request: EndpointRequest, hooks: Hooks): NotifyEnd {
  const began = Date.now();
  const { requestId, scope } = request;
  const { model, stream } = body;
  const facts = { model, stream: stream === true, background: false };
  const info: RequestInfo = { requestId, responseId: requestId, scope, ...facts };
  observed(() => ({ ...info, api: 'chat-completions', body: request.body, signal: call.signal }), hooks);
  notify(hooks, 'onRequest', info);
  return (status) => {
    const usage = readUsage(completion.usage) ?? NO_USAGE;
    notify(hooks, 'onResponse', { status, usage, ...factsOf(completion), durationMs: Date.now() - began, ...info });
  };
}

function factsOf({ answeredBy: model, server, lastUsage, usage }: Completion): UpstreamInfo {
  return upstreamInfo({
    ...(model === undefined ? {} : { model }),
    ...(server === undefined ? {} : { server }),
    ...(lastUsage ? { usage: lastUsage } : {}),
    ...costOf(usage),
  });
}

function costOf(usage: Completion['usage']): { readonly cost?: number } {
  const cost = usage && costIn(usage);
  return cost === undefined ? {} : { cost };
}

/** How a completion is streamed. */
interface Streaming {
  readonly settings: ChatSettings;
  readonly silence: Silence;
}

/**
 * The frames; a failure after the first is reported in the stream, as OpenAI does. The stream is opened, and idle time is
 * filled, by comments: the model server's format has no other heartbeat, and comments leave its bytes as they are.
 */
function guarded(
  turn: ChatTurn,
  notifyEnd: NotifyEnd,
  life: Lifetime,
  { settings, silence }: Streaming,
): PullStream<string> {
  const { hooks } = settings;
  let started = false;
  return mapped(withHeartbeats(inTurn(chatSources(turn)), silence), {
    map(frame) {
      started = true;
      if (typeof frame === 'string') return frame;
      // Nothing but headers opens the stream of a host that wants no heartbeats.
      return silence.intervalMs === undefined ? '' : HEARTBEAT_FRAME;
    },
    end() {
      notifyEnd('completed');
      return undefined;
    },
    failed(error) {
      if (!started || hasLeft(life.signal)) throw error;
      const shown = toApiError(redacted(error, settings, turn));
      notify(hooks, 'onError', shown, { requestId: turn.call.headers.get('x-request-id') ?? '' });
      notifyEnd('failed');
      return chunkFrame({ error: shown.body }) + DONE_FRAME;
    },
    closed: life.leave,
  });
}
