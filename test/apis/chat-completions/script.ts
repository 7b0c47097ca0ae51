/** Scripts for the model server: what it answers, as a stream or as JSON, whichever the request asks for. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatCompletion, chatStream, type FakeAnswer, type FakeRequest } from '../../../src/testing/index.ts';

/** A call that the model makes. */
export interface Calling {
  readonly id: string;
  readonly name: string;
  /** JSON text. */
  readonly arguments: string;
}

/** One answer of the model. */
export interface Saying {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly Calling[];
}

/** A call with arguments that fit `{}`, named after its tool unless it has an id of its own. */
export function calling(name: string, args: JsonObject | string = {}, id = `call_${name}`): Calling {
  return { id, name, arguments: typeof args === 'string' ? args : JSON.stringify(args) };
}

/** An answer that suits the request. */
export function says(saying: Saying): (request: FakeRequest) => FakeAnswer {
  return ({ body }) => ({ body: (body as JsonObject).stream ? streamOf(saying) : jsonOf(saying) });
}

function streamOf({ text, reasoning, calls = [] }: Saying): string {
  return chatStream(
    { role: 'assistant', content: null },
    ...(reasoning === undefined ? [] : [{ reasoning_content: reasoning }]),
    ...(text === undefined ? [] : [{ content: text }]),
    ...calls.flatMap((call, index) => [
      { tool_calls: [{ index, id: call.id, type: 'function', function: { name: call.name, arguments: '' } }] },
      { tool_calls: [{ index, function: { arguments: call.arguments } }] },
    ]),
  );
}

function jsonOf({ text, reasoning, calls = [] }: Saying): string {
  return chatCompletion({
    content: text ?? null,
    ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls.map(wired) }),
  });
}

/** The call as it stands in a message. */
export function wired({ id, name, arguments: json }: Calling) {
  return { id, type: 'function', function: { name, arguments: json } };
}

/** A result as it stands in a message. */
export function result({ id }: Calling, content: unknown) {
  return { role: 'tool', tool_call_id: id, content };
}
