/** `POST /chat/completions`: one request, from its body to its answer. */

import { withBudget } from '../../engine/metering/budgeted.ts';
import type { Activity } from '../../engine/request/activity.ts';
import { type EndpointRequest, hasLeft } from '../../engine/request/endpoint-request.ts';
import { beginTurn, type Lifetime, withinTurn } from '../../engine/turn/lifetime.ts';
import { notify, reportInfo } from '../../ports/hooks.ts';
import { toApiError } from '../../protocol/errors.ts';
import { isPromise } from '../../protocol/record.ts';
import { JSON_HEADERS, type Reply, streamReply, withHeaders } from '../../protocol/reply.ts';
import { withHeartbeats } from '../../streams/heartbeats.ts';
import { mapStream, type PullStream } from '../../streams/pull-stream.ts';
import { DONE_FRAME, HEARTBEAT_FRAME } from '../../streams/sse-frames.ts';
import { withFirst } from '../../streams/with-first.ts';
import { requestSilence } from '../endpoint/prepare.ts';
import { chunkFrame } from './answer/completion.ts';
import type { ChatAnswer, ChatSettings, PreparedChat } from './chat-request.ts';
import { PassThrough } from './pass-through.ts';
import { prepareChat } from './prepare-chat.ts';
import { type NotifyEnd, reportRequest } from './report-request.ts';
import { ToolTurn } from './tool-turn.ts';

/** Answers one request. Throws `ApiError` for errors that are sent with a status; later errors are in the answer. */
export async function createChatCompletion(
  request: EndpointRequest,
  settings: ChatSettings,
  turns: Activity,
): Promise<Reply> {
  const life = beginTurn(request, settings.limits.durationMs, turns);
  let chat: PreparedChat | undefined;
  try {
    const { headers, ...prepared } = await withinTurn(life, async () => {
      const budget = withBudget(request, settings, life);
      const { settings: charged, headers } = isPromise(budget) ? await budget : budget;
      return { chat: await prepareChat(request, charged, life.signal), headers };
    });
    chat = prepared.chat;
    const answer = chat.server ? new ToolTurn(chat, chat.server) : new PassThrough(chat);
    const notifyEnd = reportRequest(request, chat, settings);
    if (chat.wantsWhole) {
      const body = await answer.whole();
      notifyEnd('completed');
      life.leave();
      return withHeaders({ status: 200, headers: JSON_HEADERS, body }, headers);
    }
    const frames = streamedFrames(request, { chat, answer, notifyEnd, life, settings });
    // Awaits the first piece, so that a refusal until then has its own status.
    return withHeaders(streamReply(withFirst(await frames.next(), frames)), headers);
  } catch (error) {
    life.leave();
    // Errors in the model server's own answer may contain its secrets.
    throw settings.upstream.redact?.(error, chat?.call) ?? error;
  }
}

/** How a completion is streamed. */
interface Streaming {
  readonly chat: PreparedChat;
  readonly answer: ChatAnswer;
  readonly notifyEnd: NotifyEnd;
  readonly life: Lifetime;
  readonly settings: ChatSettings;
}

/**
 * The frames; a failure after the first is reported in the stream, as OpenAI does. The stream is opened, and idle time is
 * filled, by comments: the model server's format has no other heartbeat, and comments leave its bytes as they are.
 */
function streamedFrames(
  request: EndpointRequest,
  { chat, answer, notifyEnd, life, settings }: Streaming,
): PullStream<string> {
  const { hooks, upstream } = settings;
  const silence = requestSilence(request, settings);
  let hasBegun = false;
  return mapStream(withHeartbeats(answer.frames(), silence), {
    map(frame) {
      hasBegun = true;
      if (typeof frame === 'string') return frame;
      // Nothing but headers opens the stream of a host that wants no heartbeats.
      return silence.intervalMs === undefined ? '' : HEARTBEAT_FRAME;
    },
    end() {
      notifyEnd('completed');
      return undefined;
    },
    failed(error) {
      if (!hasBegun || hasLeft(life.signal)) throw error;
      const shown = toApiError(upstream.redact?.(error, chat.call) ?? error);
      notify(hooks, 'onError', shown, reportInfo(request, request.requestId));
      notifyEnd('failed');
      return chunkFrame({ error: shown.body }) + DONE_FRAME;
    },
    closed: life.leave,
  });
}
