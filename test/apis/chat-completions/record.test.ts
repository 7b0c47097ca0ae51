/** Which turn is read out of somebody else's chat completion. */

import { jest } from '@jest/globals';
import fc from 'fast-check';
import { completionReader } from '../../../src/apis/chat-completions/request/record.ts';
import type { EndpointRequest } from '../../../src/engine/request/endpoint-request.ts';
import type { StoredResponse } from '../../../src/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { chatChunk, chatCompletion, chatStream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';

const USAGE = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const CALLS = [
  { id: 'a', name: 'add', arguments: '{"a":1}' },
  { id: 'b', name: 'look', arguments: '{}' },
];

const REQUESTED = { model: 'asked', messages: [{ role: 'user', content: 'Go.' }] };

function readerOf(given?: Partial<EndpointRequest>, limits = {}) {
  return completionReader(endpointRequest({ body: REQUESTED, ...given }), {
    limits: { ...DEFAULT_LIMITS, ...limits },
    reasoning: 'summary',
  });
}

/** The turn in a stream, and after how many events the reader had all of it. */
function streamed(text: string, given?: Partial<EndpointRequest>, limits = {}) {
  const reader = readerOf(given, limits);
  const events = text.split('\n\n').map((frame) => frame.replace('data: ', ''));
  const last = events.findIndex((data) => reader.event(data));
  return { turn: reader.turn(), last, events: events.length };
}

function whole(text: string, given?: Partial<EndpointRequest>, limits = {}): StoredResponse | undefined {
  const reader = readerOf(given, limits);
  reader.whole(text);
  return reader.turn();
}

/** The output and the input, without ids of ours and times. */
function written(turn: StoredResponse | undefined): unknown {
  const { input, output, resource = {} } = turn ?? {};
  const bare = (items: StoredResponse['input'] = []) => items.map(({ id, ...item }) => item);
  const { status, usage, model, id } = resource;
  return turn && { id, status, model, usage, input: bare(input), output: bare(output) };
}

const input = [{ type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Go.' }] }];
const message = (text: string, status = 'completed') => ({
  type: 'message',
  role: 'assistant',
  status,
  content: [{ type: 'output_text', text, annotations: [], logprobs: [] }],
});
const functionCall = ({ id, name, arguments: text }: (typeof CALLS)[number]) => ({
  type: 'function_call',
  status: 'completed',
  call_id: id,
  name,
  arguments: text,
});

describe('completionReader', () => {
  it('[X-02] [S-12] reads a turn that a Responses request can continue, under the completion’s own id', () => {
    const turn = streamed(textStream(['Hel', 'lo'])).turn;
    const { scope, id, previousId, resource, output } = turn as StoredResponse;
    expect({ scope, id, previousId, object: resource.object, resource: resource.id, written: written(turn) }).toEqual({
      scope: 's',
      id: 'chatcmpl-fake',
      previousId: undefined,
      object: 'response',
      resource: 'chatcmpl-fake',
      written: {
        id: 'chatcmpl-fake',
        status: 'completed',
        model: 'fake-model',
        usage: expect.objectContaining({ input_tokens: 9, output_tokens: 12, total_tokens: 21 }),
        input,
        output: [message('Hello')],
      },
    });
    expect(output.every(({ id }) => /^msg_[0-9a-f]{36}$/.test(String(id)))).toBe(true);
  });

  it('[X-02] reads the same from a stream and from JSON', () => {
    const pairs = [
      [textStream('Hello'), chatCompletion('Hello')],
      [
        toolCallStream(CALLS),
        chatCompletion({ tool_calls: CALLS.map(({ id, ...called }) => ({ id, type: 'function', function: called })) }),
      ],
      [
        chatStream({ role: 'assistant', reasoning_content: 'Hm.' }, { content: 'Yes' }),
        chatCompletion({ reasoning_content: 'Hm.', content: 'Yes' }),
      ],
      [chatStream({ role: 'assistant', refusal: 'No.' }), chatCompletion({ refusal: 'No.' })],
      [
        `${chatChunk({ content: 'Cut' }) + chatChunk({}, { finish_reason: 'length', usage: USAGE })}data: [DONE]\n\n`,
        chatCompletion('Cut', { finish_reason: 'length', usage: USAGE }),
      ],
    ] as const;
    const read = pairs.map(([stream, json]) => [written(streamed(stream).turn), written(whole(json))]);
    expect(read.map(([stream]) => stream)).toEqual(read.map(([, json]) => json));
    expect(read.map(([stream]) => (stream as JsonObject).output)).toEqual([
      [message('Hello')],
      CALLS.map(functionCall),
      [{ type: 'reasoning', status: 'completed', summary: [{ type: 'summary_text', text: 'Hm.' }] }, message('Yes')],
      [{ ...message(''), content: [{ type: 'refusal', refusal: 'No.' }] }],
      [message('Cut', 'incomplete')],
    ]);
  });

  it('[P-12] has all of a stream at its last event and not before', () => {
    const { last, events } = streamed(textStream('Hello'));
    expect(last).toBe(events - 2);
  });

  it('[P-08] reads a stream without [DONE] if it has a finish reason, and not if it broke off', () => {
    const text = textStream('Hello');
    const finished = text.replace('data: [DONE]\n\n', '');
    const broken = text.slice(0, text.indexOf('"finish_reason":"stop"')).split('\n\n').slice(0, -1).join('\n\n');
    expect([written(streamed(finished).turn), streamed(broken).turn]).toEqual([
      written(streamed(text).turn),
      undefined,
    ]);
  });

  it('[X-02] reads nothing from an answer that failed, is no completion or exceeds the limit', () => {
    const failing = `${chatChunk({ content: 'x' })}data: {"error":{"message":"broken"}}\n\ndata: [DONE]\n\n`;
    const nothing = [
      streamed(failing).turn,
      streamed(`${chatChunk({ content: 'x' })}data: {"id\n\ndata: [DONE]\n\n`).turn,
      streamed('data: [DONE]\n\n').turn,
      streamed(textStream('Hello'), {}, { outputBytes: 4 }).turn,
      whole(chatCompletion('Hello'), {}, { outputBytes: 4 }),
      whole('{"error":{"message":"broken"}}'),
      whole('{"id":"x"}'),
      whole('[]'),
      whole('<html>'),
      readerOf().turn(),
    ];
    expect(nothing).toEqual(nothing.map(() => undefined));
  });

  it('[X-02] reads no more of a stream that has exceeded the limit, failed or is no JSON', () => {
    const long = 'x'.repeat(100);
    const endless: readonly ((index: number) => string)[] = [
      (index) => chatChunk({ content: `${long}${index}` }),
      (index) => chatChunk({ tool_calls: [{ index, id: `${long}${index}`, function: { name: 'f', arguments: '' } }] }),
      (index) => (index === 0 ? 'data: {"error":{"message":"broken"}}\n\n' : chatChunk({ content: 'x' })),
      (index) => (index === 0 ? 'data: {"id\n\n' : chatChunk({ content: 'x' })),
    ];
    const parse = jest.spyOn(JSON, 'parse');
    const parsed = endless.map((frame) => {
      parse.mockClear();
      const { turn } = streamed(
        Array.from({ length: 500 }, (_, index) => frame(index)).join(''),
        {},
        { outputBytes: 1000 },
      );
      return [turn, parse.mock.calls.length < 20];
    });
    parse.mockRestore();
    expect(parsed).toEqual(endless.map(() => [undefined, true]));
  });

  it('[P-08] takes the first id that is one, since Azure’s first chunk has an empty one', () => {
    const azure = chatChunk({}, { id: '', choices: [], prompt_filter_results: [] }) + textStream('Hello');
    expect(written(streamed(azure).turn)).toEqual(written(streamed(textStream('Hello')).turn));
  });

  it('[S-12] keeps the client’s own messages and the id of the turn that they continue, not what was loaded', () => {
    const loaded = [{ role: 'user', content: 'Before.' }];
    const messages = [...loaded, { role: 'user', content: 'Go.' }];
    const previous = { scope: 's', id: 'resp_0', createdAt: 0, input: [], output: [], resource: {} };
    const turn = whole(chatCompletion('Hello'), { body: { messages }, context: { history: { previous, loaded } } });
    expect({
      previousId: turn?.previousId,
      resource: turn?.resource.previous_response_id,
      input: written(turn),
    }).toEqual({
      previousId: 'resp_0',
      resource: 'resp_0',
      input: written(whole(chatCompletion('Hello'))),
    });
  });

  it('[S-12] keeps the id that the client names where somebody behind it loads the turn', () => {
    const body = { messages: [{ role: 'user', content: 'Go.' }], previous_response_id: 'resp_0' };
    expect(whole(chatCompletion('Hello'), { body })?.previousId).toBe('resp_0');
  });

  it('[Q-06] never throws, whatever the events', () => {
    const data = fc.oneof(fc.string(), fc.json(), fc.constantFrom('[DONE]', '', chatChunk({ content: 'x' }).slice(6)));
    fc.assert(
      fc.property(fc.array(data), fc.boolean(), (events, asWhole) => {
        const reader = readerOf();
        for (const event of events) asWhole ? reader.whole(event) : reader.event(event);
        reader.turn();
      }),
    );
  });
});
