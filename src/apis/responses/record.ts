/** Reads the turn out of another server's answer in the Responses API. */

import { withoutLoadedHistory } from '../../engine/history/own-input.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { StoredResponse } from '../../ports/store.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { withoutSecrets } from '../../protocol/responses/tool-secrets.ts';
import type { AnswerReader } from '../endpoint/answer-reader.ts';

/** The output of another server consists of items. */
type ForeignResponse = JsonObject & { readonly id: string; readonly output: readonly Item[] };

/** The events that end a turn that can be continued, and the statuses of such a response. */
const LAST_EVENT = /"response\.(completed|incomplete)"/;
const CONTINUABLE: ReadonlySet<unknown> = new Set(['completed', 'incomplete']);

/** Reads the answer to the request. */
export function responseReader(request: EndpointRequest): AnswerReader {
  let response: unknown;
  return {
    event(data) {
      const event = LAST_EVENT.test(data) ? jsonIn(data) : undefined;
      if (!isRecord(event) || !/^response\.(completed|incomplete)$/.test(String(event.type))) return false;
      response = event.response;
      return true;
    },
    whole(text) {
      response = jsonIn(text);
    },
    turn: () => (isContinuable(response) ? foreignTurn(response, request) : undefined),
  };
}

function isContinuable(response: unknown): response is ForeignResponse {
  if (!isRecord(response) || typeof response.id !== 'string' || !Array.isArray(response.output)) return false;
  return CONTINUABLE.has(response.status ?? 'completed');
}

function foreignTurn({ output, ...resource }: ForeignResponse, request: EndpointRequest): StoredResponse {
  const { body, context, scope } = request;
  // The cast: only a body of this API is recorded.
  const { input, previous_response_id: previousResponseId } = body as JsonObject;
  const previousId = context?.history?.previous?.id ?? previousResponseId;
  // Its server may have echoed secrets that this one would not.
  const { tools, tool_choice: choice, ...fields } = resource;
  const echoed = withoutSecrets({
    ...(tools === undefined ? {} : { tools }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
  });
  return {
    scope,
    id: resource.id,
    ...(typeof previousId === 'string' ? { previousId } : {}),
    createdAt: Date.now(),
    input: inputItems(withoutLoadedHistory(input, context?.history), randomSeed()),
    output,
    resource: { ...fields, ...echoed },
  };
}
