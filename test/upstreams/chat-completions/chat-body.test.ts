/** The body of a chat request: which fields are written, and how. */

import type { ModelRequest } from '../../../src/protocol/model-request.ts';
import { toChatBody } from '../../../src/upstreams/chat-completions/chat-body.ts';
import { type ToolChoiceForms, USUAL } from '../../../src/upstreams/chat-completions/providers.ts';

const REPORTS = { skipped: () => {}, leftOut: () => {} };

/** The body without what every body has. */
function body(
  request: Partial<ModelRequest>,
  options: { maxTokensField?: 'max_completion_tokens'; toolChoice?: ToolChoiceForms } = {},
): unknown {
  const whole = { model: 'm', items: [], tools: [], ...request };
  const { model, messages, stream, stream_options: _, ...rest } = toChatBody(whole, { ...USUAL, ...options }, REPORTS);
  return rest;
}

const BARE = { name: 'now' };
const CHAT_BARE = { type: 'function', function: { name: 'now', parameters: { type: 'object', properties: {} } } };

describe('toChatBody', () => {
  it('[S-10] [A-25] asks for a stream with usage, and makes up nothing', () => {
    expect(toChatBody({ model: 'm', items: [], tools: [] }, USUAL, REPORTS)).toEqual({
      model: 'm',
      messages: [],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it('[A-25] [S-20] spells every setting as Chat Completions does, zero and false included', () => {
    const request = {
      maxOutputTokens: 16,
      temperature: 0,
      topP: 0,
      presencePenalty: 0,
      frequencyPenalty: 0,
      verbosity: 'low',
      reasoningEffort: 'none',
      metadata: {},
      serviceTier: 'auto',
      safetyIdentifier: 's',
      promptCacheKey: 'p',
      promptCacheOptions: { mode: 'explicit' },
      promptCacheRetention: '24h',
      moderation: { model: 'omni' },
      user: 'u',
    };
    expect(body(request)).toEqual({
      max_tokens: 16,
      temperature: 0,
      top_p: 0,
      presence_penalty: 0,
      frequency_penalty: 0,
      verbosity: 'low',
      reasoning_effort: 'none',
      metadata: {},
      service_tier: 'auto',
      safety_identifier: 's',
      prompt_cache_key: 'p',
      prompt_cache_options: { mode: 'explicit' },
      prompt_cache_retention: '24h',
      moderation: { model: 'omni' },
      user: 'u',
    });
  });

  it('[A-25] bounds the answer in the field that the upstream knows', () => {
    expect(body({ maxOutputTokens: 16 }, { maxTokensField: 'max_completion_tokens' })).toEqual({
      max_completion_tokens: 16,
    });
  });

  it('[S-05] writes a tool with what is known of it', () => {
    const parameters = { type: 'object', properties: { a: { type: 'string' } } };
    const tools = [BARE, { name: 'add', description: 'Adds.', parameters, strict: false }];
    expect(body({ tools })).toEqual({
      tools: [
        CHAT_BARE,
        { type: 'function', function: { name: 'add', description: 'Adds.', parameters, strict: false } },
      ],
    });
  });

  it.each([
    ['auto', 'auto'],
    ['none', 'none'],
    ['required', 'required'],
    [{ name: 'now' }, { type: 'function', function: { name: 'now' } }],
  ] as const)('[S-05] [A-15] [B-24] [M-24] writes the choice %j', (toolChoice, written) => {
    expect(body({ tools: [BARE], toolChoice, parallelToolCalls: false })).toEqual({
      tools: [CHAT_BARE],
      tool_choice: written,
      parallel_tool_calls: false,
    });
  });

  it('[S-05] sends nothing of tools where there are none, since servers refuse a choice of nothing', () => {
    expect(body({ toolChoice: 'auto', parallelToolCalls: true })).toEqual({});
  });

  it.each([
    [{ type: 'text' }, {}],
    [{ type: 'json_object' }, { response_format: { type: 'json_object' } }],
    [
      { type: 'json_schema', name: 'n', schema: { type: 'object' }, strict: true },
      {
        response_format: { type: 'json_schema', json_schema: { name: 'n', schema: { type: 'object' }, strict: true } },
      },
    ],
  ] as const)('[S-07] [B-35] writes the format %j', (textFormat, written) => {
    expect(body({ textFormat })).toEqual(written);
  });

  it.each([
    [0, { logprobs: true }],
    [3, { logprobs: true, top_logprobs: 3 }],
  ])('[S-09] asks for the log probabilities of %i alternatives', (topLogprobs, written) => {
    expect(body({ topLogprobs })).toEqual(written);
  });
});

describe('a choice of tools', () => {
  const OTHER = { name: 'other' };
  const named = (name: string) => ({ type: 'function', function: { name } });
  const request = (more: Partial<ModelRequest>) => ({ tools: [BARE, OTHER], ...more });
  const choices = (more: Partial<ModelRequest>) =>
    (['all', 'names', 'words'] as const).map((toolChoice) => {
      // The cast: the body is the API's.
      const sent = body(request(more), { toolChoice }) as { tool_choice?: unknown; tools: readonly unknown[] };
      return [sent.tools.length, sent.tool_choice];
    });

  it('[O-05] of some tools goes to servers that know one, and keeps all definitions', () => {
    const allowed = (mode: string) => ({ type: 'allowed_tools', allowed_tools: { mode, tools: [named('now')] } });
    expect([
      choices({ toolChoice: 'auto', allowedTools: ['now'] }),
      choices({ toolChoice: 'required', allowedTools: ['now'] }),
      choices({ toolChoice: 'none', allowedTools: ['now'] }),
    ]).toEqual([
      [
        [2, allowed('auto')],
        [2, 'auto'],
        [2, 'auto'],
      ],
      [
        [2, allowed('required')],
        [2, 'required'],
        [2, 'required'],
      ],
      [
        [2, 'none'],
        [2, 'none'],
        [2, 'none'],
      ],
    ]);
  });

  it('[O-11] of one tool is `required` with that tool alone for servers that ignore names', () => {
    expect(choices({ toolChoice: { name: 'now' } })).toEqual([
      [2, named('now')],
      [2, named('now')],
      [1, 'required'],
    ]);
  });
});
