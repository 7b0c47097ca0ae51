/** NODE_DEBUG=express-open-responses, Node's own way to watch a package: the life of each request on stderr. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type FakeUpstream, startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { ask } from './client.ts';

let fake: FakeUpstream;

beforeEach(async () => {
  fake = await startFakeUpstream();
});

afterEach(() => fake.close());

/** What the app writes to stdout and stderr while it answers one request. */
async function outputOf(env: Readonly<Record<string, string>>, body = {}): Promise<{ stdout: string; stderr: string }> {
  const child = fork(join(import.meta.dirname, 'debug-app.ts'), {
    execArgv: ['--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
    env: { ...process.env, UPSTREAM_URL: fake.baseURL, NODE_NO_WARNINGS: '1', ...env },
    silent: true,
  });
  const output = { stdout: '', stderr: '' };
  child.stdout?.on('data', (text) => {
    output.stdout += text;
  });
  child.stderr?.on('data', (text) => {
    output.stderr += text;
  });
  const [url] = await once(child, 'message');
  await (await ask(String(url), body, { headers: { 'x-request-id': 'req_1' } })).text();
  const closed = once(child, 'close');
  child.kill('SIGKILL');
  await closed;
  return output;
}

/** Without the process's id, the times, the addresses and the ids, which differ each time. */
function plain(stderr: string): readonly string[] {
  return stderr
    .split('\n')
    .filter(Boolean)
    .map((line) => line.replace(/^(\S+) \d+: /, '$1: ').replace(/ms=\d+/, 'ms=N'))
    .map((line) => line.replace(/resp_\w+/, 'resp_…').replaceAll(/127\.0\.0\.1:\d+/g, 'HOST'));
}

describe('NODE_DEBUG', () => {
  it('shows a line for each step of a request, and nothing on stdout', async () => {
    const call = { id: 'c1', name: 'get_time', arguments: '{"zone":"secret-argument"}' };
    fake.reply({ body: toolCallStream([call]) }, { body: textStream('secret-answer') });
    const body = { model: 'my model', stream: true, input: 'secret-prompt' };
    const { stdout, stderr } = await outputOf({ NODE_DEBUG: 'express-open-responses' }, body);
    expect([stdout, plain(stderr)]).toEqual([
      '',
      [
        'express-open-responses serves its first request. version=0.1.0 router=responsesRouter upstream=chat-completions origin=http://HOST store=memory tenantBy="authorization|x-api-key|api-key" toolProviders=1 mcpServers=0',
        'request received requestId=req_1 endpoint="POST /responses" model="my model" stream=true',
        'upstream asked requestId=req_1 host=HOST attempt=1',
        'first output requestId=req_1 ms=N',
        'answered requestId=req_1 status=200 ms=N',
        'tool called requestId=req_1 tool=get_time server=functions ms=N ok=true',
        'upstream asked requestId=req_1 host=HOST attempt=1',
        'first output requestId=req_1 ms=N',
        'stored requestId=req_1 ms=N',
        'ended requestId=req_1 responseId=resp_… status=completed ms=N inputTokens=18 outputTokens=24',
      ].map((line) => `EXPRESS-OPEN-RESPONSES: ${line}`),
    ]);
    expect(stderr).not.toContain('secret');
    const page = readFileSync(join(import.meta.dirname, '../../docs/logging.md'), 'utf8');
    const [, sample = ''] = /```text\n(EXPRESS-OPEN-RESPONSES [^`]+)```/.exec(page) ?? [];
    expect(plain(sample)).toEqual(plain(stderr));
  });

  it('cannot be made to forge a line or to colour a terminal by what a client sends', async () => {
    const model = 'a\nEXPRESS-OPEN-RESPONSES 1: forged \u001b[31m\u009b31m\u2028\u202e';
    const { stderr } = await outputOf({ NODE_DEBUG: 'express-open-responses' }, { model });
    const [, received] = stderr.split('\n');
    expect(received).toContain('model="a\\nEXPRESS-OPEN-RESPONSES 1: forged \\u001b[31m\\u009b31m\\u2028\\u202e"');
    expect(plain(stderr).every((line) => line.startsWith('EXPRESS-OPEN-RESPONSES: '))).toBe(true);
  });

  it('that names another package shows nothing, as does none', async () => {
    expect([await outputOf({ NODE_DEBUG: 'other' }), await outputOf({})]).toEqual([
      { stdout: '', stderr: '' },
      { stdout: '', stderr: '' },
    ]);
  });
});
