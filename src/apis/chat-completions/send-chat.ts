/** Sends the bodies of one chat completion to the model server, behind the guards of its request. */

import { guardedChat } from '../../engine/guarding/guarded-chat.ts';
import type { RequestGuards } from '../../engine/guarding/request/request-guards.ts';
import { withFirstOutput } from '../../engine/turn/first-output.ts';
import type { ChatBatch } from '../../ports/upstream.ts';
import type { SendChat } from './chat-model.ts';
import type { ChatSettings } from './chat-request.ts';

/** Each stage costs time for every token, so nobody gets one unasked. */
export function chatSender(
  { upstream, hooks }: ChatSettings,
  requestId: string,
  guards: RequestGuards | undefined,
): SendChat {
  const onStep = hooks.recorder?.onStep;
  const hasData = ({ data }: ChatBatch) => data.length > 0;
  const send: SendChat = onStep
    ? (body, call) => withFirstOutput(upstream.chat(body, call), hasData, requestId, onStep)
    : (body, call) => upstream.chat(body, call);
  return guards ? guardedChat(send, guards) : send;
}
