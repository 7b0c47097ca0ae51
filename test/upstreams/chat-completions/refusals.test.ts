/** What refusals of model servers mean, by the shape of their words, and the facts that are no notes. */

import { ChatDecoder } from '../../../src/protocol/chat-completions/decoder.ts';
import type { Note } from '../../../src/protocol/note.ts';
import { isContextOverflow } from '../../../src/protocol/upstream-errors/context-overflow.ts';
import { upstreamError } from '../../../src/protocol/upstream-errors/upstream-error.ts';
import { describeShared, listShared, readShared } from '../../support/shared.ts';

describe('a full context', () => {
  it.each([
    'prompt token count of 74490 exceeds the limit of 72000',
    'prompt tokens (330095) exceed model maximum (278528) for base model x',
    'Unable to submit request because the input token count is 1100000 but model only supports up to 1048576. Reduce the input token count and try again.',
    'Requested input length 70000 exceeds maximum input length 65536',
    'The conversation has 140,000 tokens, which is longer than the 131,072 that this model reads.',
    'input of 9000 tokens is too long, at most 8192',
  ])('[V-28] is known by its shape: %s', (message) => {
    expect(isContextOverflow(undefined, undefined, message)).toBe(true);
  });

  it.each([
    'Rate limit reached: input tokens per minute 70000 exceeds 60000',
    'The input has 70000 tokens, which exceeds 60000 per minute',
    'Request too large on tokens per minute (TPM): Limit 6000, Requested 7200, please reduce your message size',
    'max_tokens: 32000 exceeds 8192 for this input',
    'thinking.budget_tokens 5000 exceeds 4096 tokens of the input',
    "Invalid 'input[0].content': string too long. Expected a string with maximum length 10485760, but got a string with length 20000000 instead.",
    'The image in the input exceeds 5242880 bytes: 6000000 tokens',
    'Your prompt exceeds your quota of tokens: 9000 of 8000 are used',
    'input tokens: 12 exceeds the minimum of 3',
    'The input exceeds 4000 tools, 5000 tokens',
  ])('[V-28] is none: %s', (message) => {
    expect(isContextOverflow(undefined, undefined, message)).toBe(false);
  });

  it('[V-28] is searched for in one pass', () => {
    for (const piece of ['prompt token exceeds 1 ', '1,000_', 'input length ', 'per '])
      expect(isContextOverflow(undefined, undefined, piece.repeat(100_000))).toBe(false);
  });
});

describeShared('recorded errors', () => {
  const others = listShared('corpus/errors', '.json').filter((name) => !/request\.json$|context-length/.test(name));

  it.each(others)('[V-28] are no full context: %s', (name) => {
    const status = Number(/-(\d{3})-/.exec(name)?.[1]);
    expect(upstreamError(status, JSON.parse(readShared(`corpus/errors/${name}`))).code).not.toBe(
      'context_length_exceeded',
    );
  });
});

describe('the error of a model server', () => {
  const server = (message: string) => ({ error: { code: 500, message, type: 'server_error' } });

  it.each([
    'input (702 tokens) is too large to process. increase the physical batch size (current batch size: 512)',
    'image input is not supported - hint: if this is unexpected, you may need to provide the mmproj',
  ])('[V-29] is of the client, where llama.cpp answers with 500: %s', (message) => {
    expect(upstreamError(500, server(message))).toMatchObject({
      status: 400,
      code: 'invalid_request',
      type: 'invalid_request_error',
    });
  });

  it('[V-29] is its own otherwise', () => {
    expect(upstreamError(500, server('It broke.'))).toMatchObject({ status: 500, type: 'server_error' });
    // The same words with another status may be said of a server that is full.
    expect(upstreamError(503, server('The batch is too large to process now.'))).toMatchObject({ status: 503 });
  });

  it.each([
    { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError', param: null, code: 404 },
    { error: { message: 'The model `x` does not exist.', type: 'NotFoundError', param: 'model', code: 404 } },
    { error: "model 'x:latest' not found" },
  ])('[V-30] names an unknown model as OpenAI does: %j', (body) => {
    expect(upstreamError(404, body)).toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it('[V-30] is not_found for anything else that is unknown', () => {
    expect(upstreamError(404, { detail: 'Not Found' }).code).toBe('not_found');
  });

  it('[V-30] says when a server that loads its model may be asked again', () => {
    const loading = { error: { message: 'Loading model', type: 'unavailable_error', code: 503 } };
    expect(upstreamError(503, loading).headers).toEqual({ 'retry-after': '5' });
    expect(upstreamError(503, loading, { 'retry-after': '60' }).headers).toEqual({ 'retry-after': '60' });
    expect(upstreamError(503, server('Busy.')).headers).toEqual({});
  });
});

describe('fields of an answer', () => {
  const noted = (chunk: object, choice: object) => {
    const notes: Note[] = [];
    const decoder = new ChatDecoder({ note: (note) => notes.push(note) });
    decoder.take(
      { ...chunk, choices: [{ index: 0, delta: { content: 'Hi.' }, finish_reason: 'stop', ...choice }] },
      [],
    );
    decoder.end([], true);
    return notes.map(({ message }) => message);
  };

  it('[V-30] [V-42] are no notes, if they are facts about the server', () => {
    const chunk = {
      timings: { predicted_ms: 3 },
      provider: 'X',
      prompt_filter_results: [{ prompt_index: 1 }],
      prompt_cache_options: { mode: 'implicit' },
    };
    expect(
      noted(chunk, { native_finish_reason: 'stop', content_filter_results: { hate: { severity: 'safe' } } }),
    ).toEqual([]);
  });

  it('[V-42] are notes, if nobody knows them', () => {
    expect(noted({ documents: ['x'] }, {})).toEqual([
      'The model server sent fields that nothing here reads: documents.',
    ]);
  });
});
