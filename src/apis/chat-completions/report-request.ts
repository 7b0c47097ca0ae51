/** Reports a chat completion to the hooks of the host. */

import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import { upstreamInfo } from '../../engine/turn/observe.ts';
import { notify, observed, type RequestInfo } from '../../ports/hooks.ts';
import { readUsage } from '../../protocol/chat-completions/usage.ts';
import { NO_USAGE } from '../../protocol/events.ts';
import type { ChatSettings, PreparedChat } from './chat-request.ts';

/** Reports the end of a request. */
export type NotifyEnd = (status: 'completed' | 'failed') => void;

/**
 * Reports the request to the host now, and returns a function that reports its end. The id is the request's: the model
 * server's arrives later.
 */
export function reportRequest(
  { requestId, scope, body: sent }: EndpointRequest,
  { body, completion, call }: PreparedChat,
  { hooks }: Pick<ChatSettings, 'hooks'>,
): NotifyEnd {
  const began = Date.now();
  const facts = { model: body.model, stream: body.stream === true, background: false };
  const info: RequestInfo = { requestId, responseId: requestId, scope, ...facts };
  observed(() => ({ ...info, api: 'chat-completions', body: sent, signal: call.signal }), hooks);
  notify(hooks, 'onRequest', info);
  return (status) => {
    const { answeredBy: model, server, lastUsage, usage: reported, cost } = completion;
    const usage = readUsage(reported) ?? NO_USAGE;
    const answered = upstreamInfo({
      ...(model === undefined ? {} : { model }),
      ...(server === undefined ? {} : { server }),
      ...(lastUsage ? { usage: lastUsage } : {}),
      ...(cost === undefined ? {} : { cost }),
    });
    notify(hooks, 'onResponse', { status, usage, ...answered, durationMs: Date.now() - began, ...info });
  };
}
