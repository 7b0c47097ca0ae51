/** Sends the bodies of one chat completion to the model server, behind the guards of its request. */

import { guardedChat } from '../../engine/guarding/guarded-chat.ts';
import type { RequestGuards } from '../../engine/guarding/request/request-guards.ts';
import { withFirstOutput } from '../../engine/turn/first-output.ts';
import type { ChatBatch } from '../../ports/upstream.ts';
import type { SendChat } from './chat-model.ts';
import type { ChatSettings } from './chat-request.ts';
import { withUniqueId } from './unique-id.ts';

/** What is done with the answers. */
interface AnswerPlan {
  readonly guards: RequestGuards | undefined;
  /** Whether the completion is stored by its id. */
  readonly isStored: boolean;
}

/** Each stage costs time for every token, so nobody gets one unasked. */
export function chatSender(
  { upstream, hooks }: ChatSettings,
  requestId: string,
  { guards, isStored }: AnswerPlan,
): SendChat {
  const onStep = hooks.recorder?.onStep;
  const hasData = ({ data }: ChatBatch) => data.length > 0;
  const send: SendChat = onStep
    ? (body, call) => withFirstOutput(upstream.chat(body, call), hasData, requestId, onStep)
    : (body, call) => upstream.chat(body, call);
  const guarded = guards ? guardedChat(send, guards) : send;
  return isStored ? withUniqueId(guarded) : guarded;
}
