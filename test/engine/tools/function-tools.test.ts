/** Functions of the host: how they are listed, what they are given, and what their answers become. */
import { z } from 'zod';
import { z as mini } from 'zod/mini';
import { runCall } from '../../../src/engine/tools/run-call.ts';
import type { ToolCall, ToolResult } from '../../../src/ports/tool-provider.ts';
import {
  type AnyFunctionTool,
  type ExecuteContext,
  functionTool,
  functionTools,
} from '../../../src/tools/functions/function-tools.ts';

type Tools = Readonly<Record<string, AnyFunctionTool>>;

const SIGNAL = new AbortController().signal;
const REQUEST = { headers: { authorization: 'Bearer user' } };
const SCHEMA = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

function callOf(name: string, args: ToolCall['arguments'] = {}): ToolCall {
  return { server: 'functions', name, arguments: args, scope: 'user-1', requestId: 'req_1', request: REQUEST };
}

function listed(tools: Tools, options?: { readonly server?: string }) {
  return functionTools(tools, options).list(SIGNAL);
}

/** What a function that returns `value` gives. */
function answered(value: unknown): Promise<ToolResult> {
  return functionTools({ answer: { execute: () => value } }).call(callOf('answer'), SIGNAL);
}

/** A function that returns its arguments. */
const echo = (args: unknown) => ({ args });

describe('the list of functions', () => {
  it('[T-10] has each with its name, description and JSON Schema, under the default server', () => {
    const tools: Tools = {
      weather: { description: 'Tells the weather.', parameters: SCHEMA, execute: echo },
      now: { execute: () => 'noon' },
    };
    expect({ name: functionTools(tools).name, tools: listed(tools) }).toEqual({
      name: 'functions',
      tools: [
        { server: 'functions', name: 'weather', description: 'Tells the weather.', parameters: SCHEMA },
        { server: 'functions', name: 'now' },
      ],
    });
  });

  it('[T-10] is of the server that the host names', () => {
    const tools: Tools = { now: { execute: () => 'noon' } };
    expect({ name: functionTools(tools, { server: 'clock' }).name, tools: listed(tools, { server: 'clock' }) }).toEqual(
      { name: 'clock', tools: [{ server: 'clock', name: 'now' }] },
    );
  });

  it('[T-10] has the JSON Schema of what a zod schema takes, not of what it makes', () => {
    const parameters = z.object({
      city: z.string().describe('Where.'),
      days: z.number().int().min(1).default(1),
      at: z.enum(['noon', 'night']).optional(),
      since: z.string().transform((text) => new Date(text)),
    });
    const [tool] = listed({
      weather: functionTool({ parameters, execute: echo }),
    }) as readonly ToolDefinitionLike[];
    expect(tool?.parameters).toEqual({
      $schema: 'https://json-schema.org/draft/2020-12/schema',
      type: 'object',
      properties: {
        city: { type: 'string', description: 'Where.' },
        days: { type: 'integer', minimum: 1, maximum: Number.MAX_SAFE_INTEGER, default: 1 },
        at: { type: 'string', enum: ['noon', 'night'] },
        since: { type: 'string' },
      },
      required: ['city', 'since'],
    });
  });

  it('[T-10] is the same list each time, since it is requested on every request', () => {
    const provider = functionTools({ now: { execute: () => 'noon' } });
    expect(provider.list(SIGNAL)).toBe(provider.list(SIGNAL));
  });
});

interface ToolDefinitionLike {
  readonly parameters?: unknown;
}

describe('a function', () => {
  it('[T-10] gets the arguments as they are where it has a JSON Schema or none', async () => {
    const tools = functionTools({ schema: { parameters: SCHEMA, execute: echo }, none: { execute: echo } });
    const args = { city: 'Rome', more: [1] };
    expect([await tools.call(callOf('schema', args), SIGNAL), await tools.call(callOf('none', args), SIGNAL)]).toEqual([
      { content: JSON.stringify({ args }) },
      { content: JSON.stringify({ args }) },
    ]);
  });

  it('[T-10] gets what its zod schema makes of the arguments: defaults, transforms and refinements that take time', async () => {
    const seen: unknown[] = [];
    const weather = functionTool({
      parameters: z.object({
        city: z.string().transform((city) => city.toUpperCase()),
        days: z.number().default(1),
        since: z.string().transform((text) => new Date(text)),
        ticket: z.string().refine(async (ticket) => ticket.length > 1),
      }),
      // The types follow the schema: a Date here would not compile as a string.
      execute: ({ city, days, since, ticket }) => {
        seen.push({ city, days, year: since.getUTCFullYear(), ticket });
        return 'Sunny.';
      },
    });
    const args = { city: 'Rome', since: '2026-11-01', ticket: 'ab', more: 1 };
    const result = await functionTools({ weather }).call(callOf('weather', args), SIGNAL);
    expect({ result, seen }).toEqual({
      result: { content: 'Sunny.' },
      seen: [{ city: 'ROME', days: 1, year: 2026, ticket: 'ab' }],
    });
  });

  it('[T-10] gets what a schema of zod mini makes of the arguments', async () => {
    const parameters = mini.object({ city: mini.string(), days: mini._default(mini.number(), 1) });
    const tools = functionTools({ weather: { parameters, execute: ({ city, days }) => `${city} ${days}` } });
    const [tool] = await tools.list(SIGNAL);
    expect([tool?.parameters, await tools.call(callOf('weather', { city: 'Rome' }), SIGNAL)]).toMatchObject([
      { type: 'object', required: ['city'] },
      { content: 'Rome 1' },
    ]);
  });

  it('[T-06, T-10] is not called with arguments that its zod schema refuses, be it in the schema or beyond it', async () => {
    let calls = 0;
    const even = functionTool({
      parameters: z.object({ number: z.number().refine((number) => number % 2 === 0, 'The number must be even.') }),
      execute: () => {
        calls += 1;
      },
    });
    const provider = functionTools({ even });
    const [tool] = await provider.list(SIGNAL);
    if (!tool) throw new Error('the function is listed');
    const limits = { toolTimeoutMs: 10_000, toolMaxMs: 10_000, toolOutputBytes: 1_000 };
    const context = { scope: 'user-1', requestId: 'req_1', request: REQUEST, limits, signal: SIGNAL };
    const outcomes = [
      await runCall({ provider, tool }, '{"number":"two"}', context),
      await runCall({ provider, tool }, '{"number":3}', context),
    ];
    const reported = 'input_validation_error: Instance type "string" is invalid. Expected "number". (path=#/number)';
    expect({ outcomes, calls }).toEqual({
      outcomes: [
        { output: reported, failed: true, error: { type: 'mcp_protocol_error', code: -32602, message: reported } },
        {
          output: expect.stringContaining('The number must be even.'),
          failed: true,
          error: expect.objectContaining({ type: 'mcp_tool_execution_error' }),
        },
      ],
      calls: 0,
    });
  });

  it('[T-10] receives the tenant of its request, with the host’s own request and a signal', async () => {
    const contexts: ExecuteContext[] = [];
    const tools = functionTools({ now: { execute: (_, context) => void contexts.push(context) } });
    await tools.call(callOf('now'), SIGNAL);
    expect(contexts).toEqual([{ scope: 'user-1', requestId: 'req_1', request: REQUEST, signal: SIGNAL }]);
    expect([contexts[0]?.request, contexts[0]?.signal]).toEqual([REQUEST, SIGNAL]);
  });

  it.each(['missing', 'toString', '__proto__', 'constructor'])(
    '[T-10, P-14] that is not there cannot be called: %s',
    async (name) => {
      const call = functionTools({ now: { execute: () => 'noon' } }).call(callOf(name), SIGNAL);
      await expect(call).rejects.toThrow(`There is no function '${name}'.`);
    },
  );

  it('[T-10, P-14] may be named like a part of an object', async () => {
    const tools: Tools = Object.fromEntries([['__proto__', { execute: () => 'ran' }]]);
    expect([listed(tools), await functionTools(tools).call(callOf('__proto__'), SIGNAL)]).toEqual([
      [{ server: 'functions', name: '__proto__' }],
      { content: 'ran' },
    ]);
  });
});

describe('the answer of a function', () => {
  const parts = [{ type: 'input_text', text: 'A cat.' }];

  it.each<[string, unknown, ToolResult]>([
    ['text', 'Sunny.', { content: 'Sunny.' }],
    ['no text', '', { content: '' }],
    ['a promise of text', Promise.resolve('Sunny.'), { content: 'Sunny.' }],
    ['a result', { content: 'No.', isError: true }, { content: 'No.', isError: true }],
    ['parts', { content: parts }, { content: parts }],
    ['an object', { sky: 'blue' }, { content: '{"sky":"blue"}' }],
    ['an object whose content is neither text nor parts', { content: 7 }, { content: '{"content":7}' }],
    [
      'an object whose content is a list of something else',
      { title: 'Rome', content: ['one', 'two'] },
      { content: '{"title":"Rome","content":["one","two"]}' },
    ],
    [
      'an object that has a content, and more that is not of a result',
      { content: 'Rome', results: 3 },
      { content: '{"content":"Rome","results":3}' },
    ],
    ['the same with a text for an image', { content: 'a', image: 'b' }, { content: '{"content":"a","image":"b"}' }],
    ['the same with a text for isError', { content: 'a', isError: 'b' }, { content: '{"content":"a","isError":"b"}' }],
    ['a list', [1, 'a'], { content: '[1,"a"]' }],
    ['a number', 0, { content: '0' }],
    ['false', false, { content: 'false' }],
    ['null', null, { content: 'null' }],
    ['nothing', undefined, { content: '' }],
    ['what JSON has no word for', () => {}, { content: '' }],
  ])('[T-10, T-08] may be %s', async (_, value, result) => {
    expect(await answered(value)).toEqual(result);
  });

  it.each<[string, unknown, string]>([
    ['a number that JSON cannot hold', 1n, 'BigInt'],
    ['a rejection', Promise.reject(new Error('No route to host.')), 'No route to host.'],
  ])('[T-10] fails where it is %s', async (_, value, message) => {
    await expect(answered(value)).rejects.toThrow(message);
  });
});

describe('functionTools', () => {
  /** The cast: mistakes of hosts without types. */
  const made = (tools: unknown, options?: unknown) => () =>
    functionTools(tools as Tools, options as { readonly server?: string });
  const execute = () => '';

  it.each<[string, unknown, string]>([
    [
      'a list',
      [{ name: 'now', execute }],
      'functionTools: the tools must be an object of tools by name, such as { add: { … } }, got an array',
    ],
    ['a function without `execute`', { now: {} }, 'functionTools: now: execute must be a function, got undefined'],
    [
      '`execute` of another type',
      { now: { execute: 'noon' } },
      "functionTools: now: execute must be a function, got 'noon'",
    ],
    [
      'a description of another type',
      { now: { execute, description: 7 } },
      'functionTools: now: description must be a string, got 7',
    ],
    [
      'parameters of another type',
      { now: { execute, parameters: 'city' } },
      "functionTools: now: parameters must be a JSON Schema or a schema of zod 4, got 'city'",
    ],
    [
      'an unknown option',
      { now: { execute, handler: execute } },
      "functionTools: now: unknown option 'handler'; known are description, parameters, execute",
    ],
  ])('[T-10] refuses %s when it is created', (_, tools, message) => {
    expect(made(tools)).toThrow(new TypeError(message));
  });

  it.each<[string, unknown]>([
    ['nothing in place of a function', { now: undefined }],
    ['null in place of a function', { now: null }],
    ['a bare function', { now: execute }],
    ['a zod schema that JSON Schema has no words for', { now: { execute, parameters: z.object({ at: z.date() }) } }],
  ])('[T-10] refuses %s when it is created, naming the function', (_, tools) => {
    expect(made(tools)).toThrow(TypeError);
    expect(made(tools)).toThrow('functionTools: now');
  });

  it('[T-10] refuses a server that is no text', () => {
    expect(made({}, { server: 7 })).toThrow(TypeError);
  });

  it('[T-10] takes undefined for omitted', () => {
    const tools = { now: { execute, description: undefined, parameters: undefined } };
    expect(made(tools)().list(SIGNAL)).toEqual([{ server: 'functions', name: 'now' }]);
  });
});
