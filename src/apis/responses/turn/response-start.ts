/** What identifies a response, and how it begins: as the client sees it, as it is stored, and as hooks receive it. */

import type { Answers } from '../../../engine/approvals/read-answers.ts';
import { approvedCalls } from '../../../engine/approvals/use-answers.ts';
import type { ResumedResponse } from '../../../engine/turn/checkpoint.ts';
import type { RequestInfo } from '../../../ports/hooks.ts';
import type { StoredResponse } from '../../../ports/store.ts';
import type { Preparation } from '../../../ports/turn-context.ts';
import { responseId } from '../../../protocol/ids.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { unixSeconds } from '../../../protocol/reply.ts';
import { startedResource } from '../../../protocol/responses/resource.ts';
import type { PreparedRequest } from '../steps/request.ts';

/** How a turn outlives its request, if it does. */
export interface TurnDurability {
  /** Whether its events are kept in the store's log. */
  readonly isLogged?: boolean;
  /** Set if another process began it. */
  readonly resumed?: ResumedResponse | undefined;
}

/** The start of a response. */
export interface ResponseStart {
  readonly info: RequestInfo;
  /** The resource as in `response.created`. */
  readonly started: JsonObject;
  /** The same as it is stored, without its `output`. */
  readonly storedStart: JsonObject;
  /** The turn as it is stored, except for its end. */
  readonly stored: Omit<StoredResponse, 'output' | 'resource'>;
  readonly preparation: Preparation;
}

/** `answers` are those to all agents. A resumed response keeps the time and the version under which it is stored. */
export function responseStart(
  prepared: PreparedRequest,
  { approved }: Answers,
  { resumed, isLogged = false }: TurnDurability,
): ResponseStart {
  const { apiRequest, body, history, seed, input, tools, toolset } = prepared;
  const { scope, requestId } = apiRequest;
  const id = responseId(seed);
  const { createdAt, version } = resumed?.stored ?? { createdAt: Date.now(), version: isLogged ? 1 : undefined };
  const started = startedResource({ id, createdAt: unixSeconds(createdAt), body, tools });
  const { output: _, ...fields } = started;
  const storedStart = isLogged ? { ...fields, logged: { include: body.include ?? null } } : fields;
  const continued = history.previous ? { previousId: history.previous.id } : {};
  const stored = { scope, id, ...continued, createdAt, input, ...(version === undefined ? {} : { version }) };
  const background = body.background === true;
  const info = { requestId, responseId: id, scope, model: body.model, stream: body.stream === true, background };
  const { prompt } = apiRequest.context ?? {};
  const preparation = {
    ...(approved.length > 0 ? { approved: approvedCalls(approved, toolset) } : {}),
    ...(prompt ? { prompt } : {}),
  };
  return { info, started, storedStart, stored, preparation };
}
