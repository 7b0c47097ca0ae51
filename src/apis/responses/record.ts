/** Reads the turn out of another server's answer in the Responses API. */

import { withoutLoadedHistory } from '../../engine/history/own-input.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { Limits } from '../../ports/limits.ts';
import type { StoredResponse } from '../../ports/store.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isFilledText, isRecord, type JsonObject, recordsIn } from '../../protocol/record.ts';
import { inputItems } from '../../protocol/responses/input-items.ts';
import { withoutSecrets } from '../../protocol/responses/tool-secrets.ts';
import type { AnswerReader } from '../endpoint/answer-reader.ts';

/** The output of another server consists of items. */
type ForeignResponse = JsonObject & { readonly id: string; readonly output: readonly Item[] };

/** The events that are read: those that end an item, and those that end a turn that can be continued. */
const READ_EVENT = /"response\.(output_item\.done|completed|incomplete)"/;
/** The statuses of such a response. */
const CONTINUABLE: ReadonlySet<unknown> = new Set(['completed', 'incomplete']);

/** Reads the answer to the request. Items above the limit are only read from the last event. */
export function responseReader(request: EndpointRequest, { outputBytes }: Pick<Limits, 'outputBytes'>): AnswerReader {
  let response: unknown;
  /** By their place in the output: an item may end before one in front of it, and be told of twice. */
  const items = new Map<unknown, JsonObject>();
  let size = 0;
  return {
    event(data) {
      const event = READ_EVENT.test(data) ? jsonIn(data) : undefined;
      if (!isRecord(event)) return false;
      if (event.type === 'response.output_item.done') {
        size += data.length;
        if (size > outputBytes) items.clear();
        else if (isRecord(event.item)) items.set(event.output_index ?? items.size, event.item);
      }
      if (!/^response\.(completed|incomplete)$/.test(String(event.type))) return false;
      response = event.response;
      // Some servers leave out of their last event what the events before it have shown.
      if (isRecord(response) && recordsIn(response.output).length === 0 && items.size > 0) {
        const inOrder = [...items].sort(([one], [other]) => Number(one) - Number(other));
        response = { ...response, output: inOrder.map(([, item]) => item) };
      }
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
    ...(isFilledText(previousId) ? { previousId } : {}),
    createdAt: Date.now(),
    input: inputItems(withoutLoadedHistory(input, context?.history), randomSeed()),
    output,
    resource: { ...fields, ...echoed },
  };
}
