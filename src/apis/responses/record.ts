/** Reads the turn out of another server's answer in the Responses API. */

import { ownInput } from '../../engine/history/own-input.ts';
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
type Answer = JsonObject & { readonly id: string; readonly output: readonly Item[] };

/** The events that end a turn that can be continued, and the statuses of such a response. */
const LAST_EVENT = /"response\.(completed|incomplete)"/;
const KEPT: ReadonlySet<unknown> = new Set(['completed', 'incomplete']);

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
    turn: () => (isKept(response) ? storedTurn(response, request) : undefined),
  };
}

function isKept(response: unknown): response is Answer {
  if (!isRecord(response) || typeof response.id !== 'string' || !Array.isArray(response.output)) return false;
  return KEPT.has(response.status ?? 'completed');
}

function storedTurn({ output, ...resource }: Answer, request: EndpointRequest): StoredResponse {
  const { body, context, scope } = request;
  // The cast: only a body of this API is recorded.
  const { input, previous_response_id: previousResponseId } = body as JsonObject;
  const previousId = context?.history?.previous?.id ?? previousResponseId;
  return {
    scope,
    id: resource.id,
    ...(typeof previousId === 'string' ? { previousId } : {}),
    createdAt: Date.now(),
    input: inputItems(ownInput(input, context?.history), randomSeed()),
    output,
    // Its server may have echoed secrets that this one would not.
    resource: withoutEchoed(resource),
  };
}

function withoutEchoed({ tools, tool_choice: choice, ...resource }: JsonObject): JsonObject {
  const echoed = {
    ...(tools === undefined ? {} : { tools }),
    ...(choice === undefined ? {} : { tool_choice: choice }),
  };
  return { ...resource, ...withoutSecrets(echoed) };
}
