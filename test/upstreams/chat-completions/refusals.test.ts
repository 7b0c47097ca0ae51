/** What refusals of model servers mean, by the shape of their words, and the facts that are no notes. */

import { ChatDecoder } from '../../../src/protocol/chat-completions/decoder.ts';
import type { Note } from '../../../src/protocol/note.ts';
import { isContextOverflow } from '../../../src/protocol/upstream-errors/context-overflow.ts';
import { errorInBody, upstreamError } from '../../../src/protocol/upstream-errors/upstream-error.ts';
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
    'this model is missing data required for image input',
    'Error: Jinja Exception: Only user and assistant roles are supported!',
    'Conversation roles must alternate user/assistant/user/assistant/... at row 1, column 5:',
    'Failed to parse tool call arguments as JSON: [json.exception.parse_error.101] parse error at line 1',
    'tools param requires --jinja flag',
  ])('[V-29] is of the client, where llama.cpp answers with 500: %s', (message) => {
    expect(upstreamError(500, server(message))).toMatchObject({
      status: 400,
      code: 'invalid_request',
      type: 'invalid_request_error',
    });
  });

  it.each(['null', '0', 'true', '""', ' ', '{}', '[]', '[null]', '{"error":null}', '{"error":{"message":""}}'])(
    '[V-29] has a message where its answer says nothing: %s',
    (text) => {
      expect(upstreamError(400, text).message).toBe('The model server answered with status 400.');
    },
  );

  it('[V-29] has the message of an answer that is text, and of one whose JSON is text', () => {
    expect(['No room. ', '"No room."'].map((text) => upstreamError(429, text).message)).toEqual([
      'No room.',
      'No room.',
    ]);
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
    // OpenRouter, Mistral, DeepSeek, Moonshot, Z.AI, xAI, Gemini, Fireworks, Azure, Perplexity, Bedrock, llama.cpp, Anthropic, LiteLLM
    { error: { message: 'x/y is not a valid model ID', code: 400 } },
    { error: { message: 'No endpoints found for x/y.', code: 404 } },
    { object: 'error', message: 'Invalid model: x', type: 'invalid_model', param: null, code: '1500' },
    { error: { message: 'Model Not Exist', type: 'invalid_request_error', code: 'invalid_request_error' } },
    { error: { message: 'Not found the model x or Permission denied', type: 'resource_not_found_error' } },
    { error: { code: '1211', message: '模型不存在，请检查模型代码。' } },
    { code: 'Client specified an invalid argument', error: 'Model not found: x' },
    [{ error: { code: 404, message: 'models/x is not found for API version v1main', status: 'NOT_FOUND' } }],
    { error: { message: 'Model not found, inaccessible, and/or not deployed', code: 'NOT_FOUND' } },
    { error: { code: 'DeploymentNotFound', message: 'The API deployment for this resource does not exist.' } },
    { error: { message: "Invalid model 'x'. Permitted models can be found in the documentation", code: 400 } },
    { message: 'The provided model identifier is invalid.' },
    { error: { code: 400, message: "model 'x' not found", type: 'invalid_request_error' } },
    { type: 'error', error: { type: 'not_found_error', message: 'model: claude-x' } },
    { error: { message: '/chat/completions: Invalid model name passed in model=x. Call `/v1/models`', code: '400' } },
  ])('[V-30] names an unknown model as OpenAI does: %j', (body) => {
    for (const status of [400, 404])
      expect(upstreamError(status, body)).toMatchObject({ status: 404, code: 'model_not_found' });
  });

  it.each([
    'Invalid model output: the answer is no JSON.',
    'No endpoints found that support tool use.',
    'This model does not support images.',
    "The model's chat template was not found.",
    "Tool 'look' of the model was called, and its result is missing.",
  ])('[V-30] takes nothing else for an unknown model: %s', (message) => {
    expect(upstreamError(400, { error: { message } })).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('[V-30] is read where MiniMax says it, within a good status', () => {
    const failed = {
      choices: null,
      base_resp: { status_code: 2013, status_msg: 'invalid params, context window exceeds limit' },
    };
    expect(errorInBody(failed)).toMatchObject({ code: 'context_length_exceeded', status: 400 });
    expect(
      errorInBody({ choices: null, base_resp: { status_code: 1008, status_msg: 'insufficient balance' } }),
    ).toMatchObject({ status: 502, message: 'insufficient balance' });
    expect(errorInBody({ choices: [], base_resp: { status_code: 0, status_msg: '' } })).toBeUndefined();
  });

  it('[V-30] is not_found for anything else that is unknown', () => {
    expect(upstreamError(404, { detail: 'Not Found' }).code).toBe('not_found');
  });

  it('[V-30] says when a server that loads its model may be asked again', () => {
    const loading = { error: { message: 'Loading model', type: 'unavailable_error', code: 503 } };
    expect(upstreamError(503, loading).headers).toEqual({ 'retry-after': '5' });
    expect(upstreamError(503, loading, { 'retry-after': '60' }).headers).toEqual({ 'retry-after': '60' });
    expect(upstreamError(503, { error: 'Model x/y is currently loading' }).headers).toEqual({ 'retry-after': '5' });
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

  it.each([
    ['Fireworks', { perf_metrics: { a: 1 } }, { token_ids: [1] }],
    ['LM Studio', { stats: { tokens_per_second: 12.3, stop_reason: 'eos' }, model_info: { arch: 'llama' } }, {}],
    ['llama.cpp', { __verbose: { content: 'x' }, prompt_progress: { total: 3, time_ms: 4 } }, {}],
    [
      'MiniMax',
      { input_sensitive: false, output_sensitive_type: 1, base_resp: { status_code: 0, status_msg: '' } },
      {},
    ],
    ['Qianfan', { is_safe: 1, ban_round: 0 }, { flag: 0 }],
    ['Hunyuan', { note: 'Written by AI.', moderation_level: '1' }, {}],
    ['SiliconFlow', { sla_metrics: { ts_us: 1 } }, {}],
    ['Ollama', { load_duration: 1, total_duration: 2 }, {}],
    ['OpenRouter', { openrouter_metadata: { endpoint: 'x' } }, { native_finish_reason: 'stop' }],
    ['SGLang and vLLM', { sglext: { x: 1 }, vllm_xargs: { a: 'b' } }, { hidden_states: [[1, 2]], routed_experts: 'x' }],
    ['Z.AI', { request_id: 'x', content_filter: [{ level: 3, role: 'assistant' }] }, {}],
    ['Cohere and Databricks', { generation_id: 'x', response_id: 'y', databricks_request_id: 'z' }, {}],
  ])('[V-42] are no notes, if they are measures or labels: %s', (_server, chunk, choice) => {
    expect(noted(chunk, choice)).toEqual([]);
  });

  it('[V-42] are notes, if nobody knows them', () => {
    expect(noted({ related_questions: [1, 'Why?'] }, {})).toEqual([
      'The model server sent fields that nothing here reads: related_questions.',
    ]);
    expect(noted({ documents: ['x'] }, {})).toEqual([
      'The model server sent fields that nothing here reads: documents.',
    ]);
  });
});
