/** Reads the turn out of another server's chat completion, with the decoder and the state machine of this package's own turns. */

import { toStoredTurn } from '../../../engine/history/keep-turn.ts';
import { withoutLoadedHistory } from '../../../engine/history/own-input.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { step } from '../../../engine/turn/machine/machine.ts';
import { plainPlan, startState } from '../../../engine/turn/machine/state.ts';
import type { Presentation } from '../../../ports/dialect.ts';
import type { Limits } from '../../../ports/limits.ts';
import type { StoredResponse } from '../../../ports/store.ts';
import { ChatDecoder } from '../../../protocol/chat-completions/decoder.ts';
import type { ModelEvent, TurnEnd } from '../../../protocol/events.ts';
import { randomSeed } from '../../../protocol/ids.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { unixSeconds } from '../../../protocol/reply.ts';
import { inputItems } from '../../../protocol/responses/input-items.ts';
import { endedFields, startedResource } from '../../../protocol/responses/resource.ts';
import type { AnswerReader } from '../../endpoint/answer-reader.ts';
import { isMessageList, messageItems } from './items.ts';

/** The limits of the answer, and where reasoning is kept. */
interface RecordSettings {
  readonly limits: Limits;
  readonly reasoning: Presentation['reasoning'];
}

/** Reads the answer to the request. */
export function completionReader(request: EndpointRequest, { limits, reasoning }: RecordSettings): AnswerReader {
  const decoder = new ChatDecoder();
  const seed = randomSeed();
  // A chunk at a time: the state machine enforces the limit on the answer's size, and stops there.
  let state = startState(plainPlan(limits, reasoning === 'summary' ? 'summary_text' : 'reasoning_text', seed));
  let head: JsonObject | undefined;
  let failed = false;
  let done = false;

  function take(text: string): void {
    // The decoder would go on growing.
    if (failed || state.ended) return;
    try {
      const events: ModelEvent[] = [];
      const chunk: unknown = JSON.parse(text);
      if (isRecord(chunk) && chunk.id && Array.isArray(chunk.choices)) head ??= chunk;
      decoder.take(chunk, events);
      state = step(state, events)[0];
    } catch {
      failed = true;
    }
  }

  function end(): TurnEnd | undefined {
    try {
      const events: ModelEvent[] = [];
      decoder.end(events, done);
      const [, turnEvents] = step(state, [...events, { type: 'end', at: unixSeconds() }]);
      const last = turnEvents.at(-1);
      return last?.type === 'turn-end' && !last.error ? last : undefined;
    } catch {
      return undefined;
    }
  }

  return {
    event(data) {
      if (data.trim() === '[DONE]') done = true;
      else if (data !== '') take(data);
      return done;
    },
    whole(text) {
      done = true;
      take(text);
    },
    turn() {
      const ended = failed || !head ? undefined : end();
      return ended && head ? storedTurn(ended, head, request, seed) : undefined;
    },
  };
}

function storedTurn(
  end: TurnEnd,
  { id, created, model }: JsonObject,
  request: EndpointRequest,
  seed: string,
): StoredResponse {
  const { body, context, scope } = request;
  // The cast: only a body of this API is recorded.
  const { messages, previous_response_id: previousResponseId } = body as JsonObject;
  const own = withoutLoadedHistory(messages, context?.history);
  // A router of this package behind the recorder loads the turn itself.
  const continued =
    context?.history?.previous?.id ?? (typeof previousResponseId === 'string' ? previousResponseId : undefined);
  // Some servers give every answer the same id, and a turn that continues itself would form a cycle.
  const previousId = continued === id ? undefined : continued;
  const createdAt = typeof created === 'number' ? created : unixSeconds();
  const started = startedResource({
    id: String(id),
    createdAt,
    body: { model: String(model), previous_response_id: previousId ?? null },
    tools: { tools: [], choice: 'auto' },
  });
  const { output: _, ...fields } = started;
  const input = inputItems(isMessageList(own) ? messageItems(own) : [], seed);
  const turn = { scope, id: String(id), createdAt: Date.now(), input, ...(previousId ? { previousId } : {}) };
  return toStoredTurn(turn, { resource: endedFields(fields, end), output: end.output });
}
