/** Mistakes of a host's that must not pass: each is an error that says what to write, and quotes no secret. */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { openResponses } from '../../src/core.ts';
import { type ApiError, type ChatCompletionsOptions, chatCompletionsUpstream, functionTools } from '../../src/index.ts';
import { type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { mcpTools } from '../../src/tools/mcp/index.ts';
import { anthropicUpstream } from '../../src/upstreams/anthropic/anthropic-upstream.ts';
import type { ServerOptions } from '../../src/upstreams/http/server-options.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { ask } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';

const SECRET = 'sk-very-secret';

/** What making it throws, of any realm. */
function thrownBy(make: () => unknown): { readonly name: string; readonly message: string } {
  try {
    make();
  } catch (error) {
    return error as Error;
  }
  return { name: 'nothing', message: '' };
}

describe.each([
  ['chatCompletionsUpstream', chatCompletionsUpstream],
  ['responsesUpstream', responsesUpstream],
  ['anthropicUpstream', anthropicUpstream],
] as const)('%s', (name, make) => {
  const baseURL = 'http://localhost:8000/v1';

  it.each<[string, object, string]>([
    ['a key with a line break', { apiKey: `${SECRET}\n` }, 'apiKey'],
    ['a key that no header takes', { apiKey: `${SECRET}…` }, 'apiKey'],
    ['a header with a line break', { headers: { 'x-key': `${SECRET}\r\nhost: evil` } }, "'x-key'"],
    ['a header that is no text', { headers: { 'x-key': [SECRET] } }, "'x-key'"],
    ['a name that is no header', { headers: { 'x key': SECRET } }, "'x key'"],
    ['headers that are no object', { headers: SECRET }, 'headers'],
    ['a URL of no server', { baseURL: `localhost:8000/v1?key=${SECRET}` }, 'baseURL'],
    ['a URL with a user', { baseURL: `user:${SECRET}@localhost` }, 'baseURL'],
  ])('[F-31] refuses %s, without quoting it', (_, options, named) => {
    const { name: type, message } = thrownBy(() => make({ baseURL, ...options } as ServerOptions));
    expect([type, message.startsWith(`${name}: `), message.includes(named), message.includes('secret')]).toEqual([
      'TypeError',
      true,
      true,
      message.includes('which may be secret'),
    ]);
    expect(message).not.toContain(SECRET);
  });

  it.each(['chat/completions', 'chat/completions/', 'responses', 'messages'])(
    '[F-31] refuses a URL that ends in the endpoint %s, and reports what to write',
    (endpoint) => {
      const { name: type, message } = thrownBy(() => make({ baseURL: `${baseURL}/${endpoint}?key=${SECRET}` }));
      expect([type, message]).toEqual([
        'TypeError',
        `${name}: baseURL must not have the endpoint '/${endpoint}' in it; write '${baseURL}'`,
      ]);
    },
  );

  it('[F-31] refuses a key of the environment that no header takes, by the name of its variable', () => {
    const variable = name === 'anthropicUpstream' ? 'ANTHROPIC_API_KEY' : 'OPENAI_API_KEY';
    const before = process.env[variable];
    process.env[variable] = `${SECRET}\n`;
    const { name: type, message } = thrownBy(() => make());
    if (before === undefined) delete process.env[variable];
    else process.env[variable] = before;
    expect([type, message.includes(variable), message.includes(SECRET)]).toEqual(['TypeError', true, false]);
  });
});

describe('the model server', () => {
  let fake: FakeUpstream;
  let app: App | undefined;
  let reported: ApiError[] = [];

  beforeEach(async () => {
    reported = [];
    fake = await startFakeUpstream();
  });

  afterEach(async () => {
    await app?.close();
    app = undefined;
    await fake.close();
  });

  async function requested(options: ChatCompletionsOptions) {
    const upstream = chatCompletionsUpstream({ apiKey: 'k', retries: 0, ...options });
    app = await startApp({ options: { upstream, hooks: { onError: (error) => void reported.push(error) } } });
    const response = await ask(app.url);
    await response.text();
    await upstream.close?.();
    const { cause } = (reported[0] ?? {}) as { cause?: Error };
    return { status: response.status, cause: cause?.message };
  }

  it.each([
    ['text', 'Not Found'],
    ['FastAPI’s', '{"detail":"Not Found"}'],
    ['LM Studio’s', '{"error":"Unexpected endpoint or method. (POST /chat/completions)"}'],
  ])('[F-31] that knows no such path makes the host think of /v1: %s', async (_, body) => {
    fake.reply({ status: 404, body });
    const cause = "The model server has no path /chat/completions: does baseURL lack '/v1' at its end?";
    expect(await requested({ baseURL: new URL(fake.baseURL).origin })).toEqual({ status: 404, cause });
  });

  it.each<[string, string, (url: string) => string]>([
    ['knows the path and not the model', '{"error":{"message":"No such model."}}', (url) => new URL(url).origin],
    ['is asked below /v1 already', 'Not Found', (url) => url],
  ])('[F-31] that %s does not', async (_, body, place) => {
    fake.reply({ status: 404, body });
    expect(await requested({ baseURL: place(fake.baseURL) })).toEqual({ status: 404, cause: undefined });
  });

  it.each([
    ['https://other.example:8443/v1/chat?key=secret', 'https://other.example:8443'],
    ['/elsewhere?key=secret', 'another path of its own'],
    ['http://', 'no URL'],
  ])(
    '[F-31] that redirects is reported to the host with where it leads, the host of it alone: %s',
    async (location, to) => {
      fake.reply({ status: 307, headers: { location }, body: '' });
      const cause = `The model server redirects to ${to} (status 307): baseURL must be where its API is.`;
      expect(await requested({ baseURL: fake.baseURL })).toEqual({ status: 502, cause });
    },
  );

  it('[F-31] is not asked with a header of the host’s function that no header takes, and the host is informed which', async () => {
    const headers = () => ({ 'x-tenant-key': `${SECRET}\n` });
    const { status, cause = '' } = await requested({ baseURL: fake.baseURL, headers });
    expect([status, cause.includes("'x-tenant-key'"), cause.includes(SECRET), fake.requests.length]).toEqual([
      500,
      true,
      false,
      0,
    ]);
  });
});

describe('functionTools', () => {
  const execute = () => '';

  it.each(['order.status', 'order status', 'öffnen', '', 'x'.repeat(65)])('[F-31] refuses the name %j', (name) => {
    const { name: type, message } = thrownBy(() => functionTools({ [name]: { execute } }));
    expect([type, message.startsWith('functionTools: the name of a function must match')]).toEqual(['TypeError', true]);
  });

  it.each<[string, object]>([
    ['a text', { type: 'string' }],
    ['a list', { type: 'array', items: {} }],
    ['several types', { type: ['object', 'null'] }],
    ['alternatives', { anyOf: [{ type: 'object' }] }],
    ['a reference', { $ref: '#/$defs/a' }],
    ['a zod text', z.string()],
    ['a zod union', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
  ])('[F-31] refuses arguments that are %s', (_, parameters) => {
    const { name: type, message } = thrownBy(() =>
      functionTools({ look: { execute, parameters: parameters as never } }),
    );
    expect([type, message.startsWith('functionTools: look: parameters must describe an object')]).toEqual([
      'TypeError',
      true,
    ]);
  });

  it('[F-31] takes a schema of an object, and one that holds nothing', () => {
    for (const parameters of [{}, { type: 'object' }, { properties: {} }, z.object({}), undefined])
      expect(functionTools({ 'look-up_1': { execute, ...(parameters ? { parameters } : {}) } }).name).toBe('functions');
  });
});

describe('mcpTools', () => {
  it('[F-31] refuses a command line in the place of a command, and quotes no argument of it', () => {
    const { name, message } = thrownBy(() =>
      mcpTools({ servers: { files: { command: `npx -y files --key ${SECRET}` } } }),
    );
    expect([name, message]).toEqual([
      'TypeError',
      "mcpTools: server 'files': command must be a program alone, with its arguments in args: { command: 'npx', args: [...] }",
    ]);
  });

  it('[F-31] takes a program whose path has blanks', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'a folder '));
    const command = join(folder, 'my server');
    writeFileSync(command, '');
    const tools = [
      mcpTools({ servers: { files: { command } } }),
      mcpTools({ servers: { files: { command: './my server', cwd: folder } } }),
    ];
    await Promise.all(tools.map((each) => each.close()));
    rmSync(folder, { recursive: true });
  });
});

it('[F-31] a scope of the Web handler that names nobody is the host’s mistake', async () => {
  const fake = await startFakeUpstream();
  // The cast: what a host without types may write.
  const handler = openResponses({
    upstream: chatCompletionsUpstream({ baseURL: fake.baseURL }),
    scope: (() => undefined) as unknown as () => string,
  }).fetch;
  await expect(handler(new Request('http://h/responses/resp_1'))).rejects.toThrow('scope: must return a string');
  await fake.close();
});

describe('where nothing sets which model server is meant', () => {
  const dist = join(import.meta.dirname, '../../dist');

  it.each<[string, string, Readonly<Record<string, string>>, number]>([
    ['no key and no URL', '{}', {}, 1],
    ['a key that is not OpenAI’s', "{ apiKey: 'local' }", {}, 1],
    ['a URL of a variable that is not set', "{ baseURL: process.env.NOT_SET, apiKey: 'local' }", {}, 1],
    ['a key of OpenAI’s', "{ apiKey: 'sk-proj-1' }", {}, 0],
    ['OPENAI_API_KEY', '{}', { OPENAI_API_KEY: 'sk-proj-1' }, 0],
    ['OPENAI_BASE_URL', '{}', { OPENAI_BASE_URL: 'http://localhost:8000/v1' }, 0],
    ['a URL', "{ baseURL: 'https://api.openai.com/v1' }", {}, 0],
  ])('[F-31] it is reported once that prompts go to OpenAI: %s', (_, options, env, times) => {
    const code = `import { chatCompletionsUpstream } from ${JSON.stringify(`${dist}/esm/index.js`)};
      for (const _ of [1, 2]) chatCompletionsUpstream(${options});`;
    const { OPENAI_API_KEY: _key, OPENAI_BASE_URL: _url, ...rest } = process.env;
    const stderr = stderrOf(code, { ...rest, ...env });
    expect(stderr.match(/so prompts go to https:\/\/api\.openai\.com\/v1/g) ?? []).toHaveLength(times);
  });
});

function stderrOf(code: string, env: NodeJS.ProcessEnv = process.env, cwd?: string): string {
  const redirected = ['-c', '"$0" --input-type=module -e "$1" 2>&1 || true', process.execPath, code];
  return execFileSync('sh', redirected, { encoding: 'utf8', env, ...(cwd ? { cwd } : {}) });
}

describe('a package that is missing', () => {
  let folder: string;

  /** This package as it is installed, with the packages that it depends on and none of its peers. */
  beforeAll(() => {
    const root = join(import.meta.dirname, '../..');
    folder = mkdtempSync(join(tmpdir(), 'no-peers-'));
    const own = join(folder, 'node_modules/express-open-responses');
    mkdirSync(own, { recursive: true });
    cpSync(join(root, 'dist'), join(own, 'dist'), { recursive: true });
    cpSync(join(root, 'package.json'), join(own, 'package.json'));
    for (const name of ['@cfworker', 'eventsource-parser', 'ipaddr.js', 'undici', 'zod'])
      symlinkSync(join(root, 'node_modules', name), join(folder, 'node_modules', name));
  });

  afterAll(() => rmSync(folder, { recursive: true }));

  it.each([
    ['websocket', 'ws'],
    ['mcp', '@modelcontextprotocol/client'],
    ['otel', '@opentelemetry/api'],
    ['engines/bullmq', 'bullmq'],
  ])('[F-31] is named with how to install it, imported or required: %s', (entry, name) => {
    const path = `express-open-responses/${entry}`;
    const says = `Error: ${path} needs the package '${name}', which is not installed. Install it: npm install ${name}`;
    const imported = stderrOf(`await import('${path}')`, process.env, folder);
    const required = `import { createRequire } from 'node:module'; createRequire('${folder}/a.js')('${path}')`;
    expect([imported.includes(says), stderrOf(required, process.env, folder).includes(says)]).toEqual([true, true]);
  });

  it('[F-31] [X-14] is named by the function that needs it: @aws-sdk/client-s3', () => {
    const create = "s3Files({ client: { send() {} }, bucket: 'b' })";
    const printed = stderrOf(`(await import('express-open-responses/files')).${create}`, process.env, folder);
    expect(printed).toContain("Error: s3Files needs the package '@aws-sdk/client-s3', which is not installed.");
  });

  it.each([
    ['files', 'memoryFiles'],
    ['vector-stores', 'memoryVectors'],
    ['inspector', 'createInspector'],
  ])('[X-03] is none of Express, if no router is made: %s', (entry, name) => {
    expect(stderrOf(`(await import('express-open-responses/${entry}')).${name}()`, process.env, folder)).toBe('');
  });

  it('[F-31] [X-11] is named by the options that need it: cockatiel', () => {
    const options = ['', ', { breaker: false }', ', { breaker: false, bulkhead: { calls: 1 } }'];
    const own = "{ name: 'own', stream() {} }";
    const [usual, none, bulkhead] = options.map((text) =>
      stderrOf(`(await import('express-open-responses/routing')).withFailover([${own}]${text})`, process.env, folder),
    );
    const says = "TypeError: withFailover: breaker and bulkhead need the package 'cockatiel': npm install cockatiel";
    expect([usual?.includes(says), none, bulkhead?.includes(says)]).toEqual([true, '', true]);
  });
});
