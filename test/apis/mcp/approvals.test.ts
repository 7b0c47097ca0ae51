/** Tools that need approval, guards, hosted tools and progress for MCP clients. */
import { createHash } from 'node:crypto';
import { jest } from '@jest/globals';
import type { ApprovalInfo, Guard, GuardInfo, Note, ToolCallInfo, ToolProgressInfo } from '../../../src/index.ts';
import { functionTools } from '../../../src/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { gate } from '../../support/gate.ts';
import { beginSession, CLIENTS, closeAll, connect, post, startMcp } from './mcp-app.ts';

afterEach(closeAll);

const approval = ({ name }: { readonly name: string }) => name === 'echo';

describe.each(CLIENTS)('%s', (kind) => {
  it('[E-16] asks its user before a tool runs that needs approval', async () => {
    const decisions: ApprovalInfo[] = [];
    const { url } = await startMcp({ approval, hooks: { onApproval: (info) => decisions.push(info) } });
    const asked: string[] = [];
    const answer = (message: string) => {
      asked.push(message);
      return 'accept' as const;
    };
    const client = await connect(kind, url, { answer });
    const { tools } = await client.listTools();
    const { content } = await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
    expect([tools[0]?.name, content, asked]).toEqual([
      'echo',
      [{ type: 'text', text: 'hi' }],
      [`May 'echo' run with these arguments? {"text":"hi"}`],
    ]);
    expect(decisions.map(({ decision, name, forcedByHost }) => [decision, name, forcedByHost])).toEqual([
      ['requested', 'echo', true],
      ['approved', 'echo', true],
    ]);
    expect(new Set(decisions.map(({ approvalRequestId }) => approvalRequestId)).size).toBe(1);
  });

  it('[E-16] is told that its user has not approved, and nothing has run', async () => {
    const { url, events } = await startMcp({ approval });
    const ran: string[] = [];
    events.on('called', (name) => ran.push(name));
    const client = await connect(kind, url, { answer: () => 'decline' });
    const { content, isError } = await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
    expect([content, isError, ran]).toEqual([
      [{ type: 'text', text: 'The user did not approve this call, so it was not run.' }],
      true,
      [],
    ]);
  });

  it('[E-16] that cannot ask is not shown such a tool, and is told so if it calls it', async () => {
    const { url, events } = await startMcp({ approval });
    const ran: string[] = [];
    events.on('called', (name) => ran.push(name));
    const client = await connect(kind, url);
    const { tools } = await client.listTools();
    const { content, isError } = await client.callTool({ name: 'echo', arguments: { text: 'hi' } });
    expect([tools.map(({ name }) => name).includes('echo'), JSON.stringify(content), isError, ran]).toEqual([
      false,
      expect.stringContaining('does not support elicitation'),
      true,
      [],
    ]);
  });

  it('[E-16] has its arguments and results guarded', async () => {
    const found: GuardInfo[] = [];
    const secrets: Guard = {
      name: 'secrets',
      inspect({ text }) {
        if (text.includes('forbidden')) return { action: 'block', reason: 'It is forbidden.' };
        const start = text.indexOf('secret');
        return start < 0 ? { action: 'pass' } : { action: 'replace', findings: [{ start, end: start + 6, rule: 'S' }] };
      },
    };
    const tools = functionTools({
      tell: { parameters: { type: 'object', properties: { about: {} } }, execute: ({ about }) => `${about} is secret` },
    });
    const { url } = await startMcp({
      tools,
      guards: { tools: [secrets] },
      hooks: { onGuard: (info) => found.push(info) },
    });
    const client = await connect(kind, url);
    const passed = await client.callTool({ name: 'tell', arguments: { about: 'It' } });
    const blocked = await client.callTool({ name: 'tell', arguments: { about: 'forbidden' } });
    expect([passed.content, blocked.content, blocked.isError]).toEqual([
      [{ type: 'text', text: 'It is [S]' }],
      [{ type: 'text', text: "Not allowed by this server's policy. It is forbidden." }],
      true,
    ]);
    expect(found.map(({ direction, action }) => [direction, action])).toEqual([
      ['tool-result', 'replaced'],
      ['tool-arguments', 'blocked'],
    ]);
  });

  it('[E-16] calls hosted tools that the host has enabled, with its settings, and no others', async () => {
    const seen: unknown[] = [];
    const hosted = {
      name: 'search',
      list: () => [
        { server: 'web', name: 'web_search', requestedBy: 'web_search', parameters: { type: 'object' } },
        { server: 'code', name: 'python', requestedBy: 'code_interpreter', parameters: { type: 'object' } },
      ],
      async call({ name, settings }: { readonly name: string; readonly settings?: unknown }) {
        seen.push([name, settings]);
        return { content: 'found' };
      },
    };
    const hostedTools = [{ type: 'web_search', search_context_size: 'low' }];
    const { url } = await startMcp({ tools: hosted, hostedTools });
    const client = await connect(kind, url);
    const { tools } = await client.listTools();
    await client.callTool({ name: 'web_search' });
    expect([tools.map(({ name }) => name), seen]).toEqual([['web_search'], [['web_search', hostedTools[0]]]]);
  });

  it('[E-16] has its calls reported to the host, with the tenant and the progress', async () => {
    const calls: ToolCallInfo[] = [];
    const steps: ToolProgressInfo[] = [];
    const { url } = await startMcp({
      hooks: { onToolCall: (info) => calls.push(info), onToolProgress: (info) => steps.push(info) },
    });
    const client = await connect(kind, url);
    await client.callTool({ name: 'steps' });
    const scope = createHash('sha256').update('Bearer ada').digest('base64url');
    expect([calls, steps]).toMatchObject([
      [{ name: 'steps', server: 'functions', scope, error: undefined }],
      [{ name: 'steps', progress: 1, total: 2, message: 'half' }],
    ]);
  });

  it('[E-16] is not told what failed inside the server', async () => {
    const errors: unknown[] = [];
    const { url } = await startMcp({
      tools: () => {
        throw new Error('password of the database');
      },
      hooks: { onError: (error) => errors.push(error.cause) },
    });
    const client = await connect(kind, url);
    await expect(client.listTools()).rejects.toThrow('The server had an error while processing the request.');
    expect(errors).toEqual([new Error('password of the database')]);
  });
});

/** Calls without a client, in the newer era, whose answers to questions come with the call. */
function call(url: URL, args: object, answered: object = {}, key = 'ada') {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  };
  const message = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'echo', arguments: args, _meta, ...answered },
  };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' };
  // The cast: a result of this method.
  return post(url, message, { ...headers, authorization: `Bearer ${key}` }).then(
    (answer) => answer.json() as Promise<{ result: Record<string, unknown> }>,
  );
}

it('[E-16] an answer counts for its own question only: same tool, arguments and tenant', async () => {
  const { url, events } = await startMcp({ approval });
  const ran: string[] = [];
  events.on('called', (name) => ran.push(name));
  const first = await call(url, { text: 'rm a' });
  const { requestState } = first.result;
  const inputResponses = { approval: { action: 'accept', content: {} } };
  const outcomes = [
    await call(url, { text: 'rm a' }, { inputResponses }),
    await call(url, { text: 'rm b' }, { inputResponses, requestState }),
    await call(url, { text: 'rm a' }, { inputResponses, requestState }, 'bob'),
    await call(url, { text: 'rm a' }, { inputResponses, requestState: `${requestState}x` }),
  ].map(({ result }) => result.resultType);
  expect([outcomes, ran]).toEqual([Array(4).fill('input_required'), []]);
  const { result } = await call(url, { text: 'rm a' }, { inputResponses, requestState });
  expect([result.content, ran]).toEqual([[{ type: 'text', text: 'rm a' }], ['echo']]);
});

it('[E-16] an answer counts for ten minutes', async () => {
  const { url, events } = await startMcp({ approval });
  const ran: string[] = [];
  events.on('called', (name) => ran.push(name));
  const { requestState } = (await call(url, { text: 'rm a' })).result;
  const answer = { inputResponses: { approval: { action: 'accept', content: {} } }, requestState };
  const { now } = Date;
  const later = jest.spyOn(Date, 'now').mockImplementation(() => now() + 600_000);
  const { result } = await call(url, { text: 'rm a' }, answer);
  later.mockRestore();
  expect([result.resultType, ran]).toEqual(['input_required', []]);
});

it('[E-16] arguments of more than a mebibyte are refused, and the tool does not run', async () => {
  const { url, events } = await startMcp({});
  const ran: string[] = [];
  events.on('called', (name) => ran.push(name));
  const { result } = await call(url, { text: 'x'.repeat(1024 * 1024) });
  expect([result.isError, result.content, ran]).toEqual([
    true,
    [{ type: 'text', text: 'The arguments have more than 1048576 bytes.' }],
    [],
  ]);
});

it('[E-16] a provider that fails is noted, and the other tools are listed', async () => {
  const notes: Note[] = [];
  const broken = {
    name: 'broken',
    list: () => Promise.reject(new Error('down')),
    call: () => Promise.reject(new Error('down')),
  };
  const fine = functionTools({ fine: { execute: () => 'fine' } });
  const { url } = await startMcp({ tools: [broken, fine], hooks: { onNote: (note) => notes.push(note) } });
  const { tools } = await (await connect('SDK 1', url)).listTools();
  expect([tools.map(({ name }) => name), notes.map(({ message }) => message)]).toEqual([
    ['fine'],
    ["The tools of 'broken' could not be listed: down"],
  ]);
});

it('[E-16] a tool whose schema or hints no client would take does not spoil the list', async () => {
  const odd = {
    name: 'odd',
    list: () => [
      {
        server: 'odd',
        name: 'odd tool!',
        parameters: { anyOf: [] },
        annotations: { readOnlyHint: 'yes', title: 'Odd' },
      },
    ],
    call: async () => ({ content: '' }),
  };
  const { url } = await startMcp({ tools: odd });
  const { tools } = await (await connect('SDK 1', url)).listTools();
  expect(tools).toMatchObject([{ inputSchema: { type: 'object' }, annotations: { title: 'Odd' } }]);
  expect(tools[0]?.name).toMatch(/^[\w-]+$/);
});

describe('what a tool tells of its progress', () => {
  const CALL = {
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name: 'steps', _meta: { progressToken: 'p' } },
  };
  const telling = functionTools({
    steps: {
      async execute(_args: unknown, { onProgress }) {
        onProgress?.({ progress: 1, total: 2, message: 'Ask bob@example.com' });
        return 'done';
      },
    },
  });

  it.each([
    ['replaced', pii(), '[EMAIL]'],
    ['blocked', pii({ mode: 'enforce' }), 'done'],
  ] as const)('[G-06] is %s by the guards of tools, and comes before the result', async (_, secrets, shown) => {
    const { url } = await startMcp({ tools: telling, guards: { tools: [secrets] } });
    const session = { 'mcp-session-id': await beginSession(url) };
    const text = await (await post(url, CALL, session)).text();
    expect([
      text.includes('bob@'),
      text.includes(shown),
      text.lastIndexOf('progressToken') < text.indexOf('done'),
    ]).toEqual([false, true, true]);
  });
});

describe('a tool that takes long', () => {
  const slow = () => {
    const done = gate();
    const tools = functionTools({
      slow: {
        async execute() {
          await done.opened;
          return 'done';
        },
      },
    });
    return { done, tools, limits: { model: { openAfterMs: 20 } } };
  };
  const CALL = { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'slow' } };

  it.each(['an older client', 'a newer client'])('[O-04] does not leave %s in silence', async (era) => {
    const { done, ...options } = slow();
    const { url } = await startMcp(options);
    const isOld = era === 'an older client';
    const params = {
      name: 'slow',
      _meta: {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    };
    const answer = await post(
      url,
      isOld ? CALL : { ...CALL, params },
      isOld
        ? { 'mcp-session-id': await beginSession(url) }
        : { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'slow' },
    );
    const reader = (answer.body as ReadableStream<Uint8Array>).pipeThrough(new TextDecoderStream()).getReader();
    const { value: first } = await reader.read();
    done.open();
    let rest = '';
    for (let piece = await reader.read(); !piece.done; piece = await reader.read()) rest += piece.value;
    expect([answer.status, answer.headers.get('content-type'), first]).toEqual([
      200,
      'text/event-stream',
      ': heartbeat\n\n',
    ]);
    const data = rest.split('\n').find((line) => line.startsWith('data: '));
    expect(JSON.parse(data?.slice('data: '.length) ?? '')).toMatchObject({
      id: 7,
      result: { content: [{ type: 'text', text: 'done' }] },
    });
  });
});
