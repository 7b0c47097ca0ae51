/** Every hostile shape in every place of every body, at an app in a process of its own with a small heap. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { WebSocket } from 'ws';
import { allowedTime, ENDPOINTS, type EndpointName, hostileBodies, SHAPES } from '../support/hostile-bodies.ts';
import { tally } from './tally.ts';

const BYTES = 200_000;
const MIB = 1024 * 1024;
/** Megabytes. The largest body that is taken has two million values, and the text of it. */
const HEAP = 700;

const { tried } = tally('bodies');
const compress = promisify(gzip);

let child: ChildProcess;
let url: string;

beforeAll(async () => {
  child = fork(join(import.meta.dirname, 'bodies-app.ts'), {
    execArgv: [`--max-old-space-size=${HEAP}`, '--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
  });
  const [address] = await once(child, 'message');
  url = String(address);
}, 60_000);

afterAll(async () => {
  if (child.exitCode === null) child.kill();
});

/** The processor time that the app has taken so far; fails where it has died. */
async function spent(): Promise<number> {
  const answer = once(child, 'message');
  child.send('time');
  const [ms] = await answer;
  return Number(ms);
}

interface Sent {
  readonly status: number;
  readonly text: string;
  /** Milliseconds of the app's processor time. */
  readonly ms: number;
}

async function send(
  path: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>> = {},
): Promise<Sent> {
  const before = await spent();
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: body as string,
  });
  const text = await response.text();
  return { status: response.status, text, ms: (await spent()) - before };
}

async function idOf(path: string, body: unknown): Promise<string> {
  return JSON.parse((await send(path, JSON.stringify(body))).text).id;
}

/** What was wrong with the answer; nothing where the attack held. */
async function faultOf(name: string, text: string, attack: () => Promise<Sent>): Promise<readonly string[]> {
  const allowed = await allowedTime(text);
  const first = await attack();
  // Garbage of the attack before it may be collected now.
  const { status, ms } = first.ms <= allowed ? first : await attack();
  if (status < 500 && ms <= allowed) return [];
  return [`${name}: status ${status}, ${ms.toFixed(0)} ms of ${allowed.toFixed(0)}`];
}

async function pathOf(prefix: string, endpoint: EndpointName): Promise<string> {
  const path = endpoint.replace('POST ', '');
  if (endpoint.includes('submit_tool_outputs')) {
    const tools = [{ type: 'function', name: 'call' }];
    return `/tokligence${path.replace(':id', await idOf('/tokligence/responses', { model: 'm', input: 'Hi.', tools }))}`;
  }
  return `${prefix}${path.replace(':id', await idOf('/v1/conversations', {}))}`;
}

const PROXIED = new Set<EndpointName>(['POST /responses', 'POST /chat/completions']);
const CASES = (Object.keys(ENDPOINTS) as EndpointName[]).flatMap((endpoint) =>
  (PROXIED.has(endpoint) ? ['/v1', '/tools', '/parsed', '/proxy'] : ['/v1'])
    .filter((prefix) => prefix !== '/tools' || endpoint === 'POST /responses')
    .map((prefix) => [endpoint, prefix] as const),
);

it.each(CASES)(
  '[F-02] %s below %s reads no body for more than ten times its parsing',
  async (endpoint, prefix) => {
    const faults: string[] = [];
    for (const body of hostileBodies(endpoint, BYTES)) {
      const path = await pathOf(prefix, endpoint);
      const text = body.text();
      faults.push(...(await faultOf(`${prefix} ${body.name}`, text, () => send(path, text))));
      tried(`${prefix} ${endpoint}`);
    }
    expect(faults).toEqual([]);
  },
  300_000,
);

it('[F-02] a WebSocket reads no message for more than ten times its parsing', async () => {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/v1/responses`, { maxPayload: 256 * MIB });
  await once(socket, 'open');
  const ended = /"type":"(error|response\.(completed|failed|incomplete))"/;
  const attack = (text: string) => async (): Promise<Sent> => {
    const before = await spent();
    const last = new Promise<string>((resolve) => {
      socket.on('message', function take(data) {
        const message = String(data);
        if (!ended.test(message.slice(0, 400))) return;
        socket.off('message', take);
        resolve(message);
      });
    });
    socket.send(text);
    const message = await last;
    return { status: message.includes('"status":500') ? 500 : 200, text: message, ms: (await spent()) - before };
  };
  const faults: string[] = [];
  for (const body of hostileBodies('POST /responses', BYTES)) {
    const text = body.text().replace('{', '{"type":"response.create",');
    faults.push(...(await faultOf(`WebSocket ${body.name}`, text, attack(text))));
    tried('WebSocket message');
  }
  socket.terminate();
  expect(faults).toEqual([]);
}, 300_000);

const LARGEST = [
  ['zeros', '{"model":"m","input":@}', '/v1/responses'],
  ['zeros', '{"model":"m","messages":@}', '/v1/chat/completions'],
  ['empty objects', '{"model":"m","input":[{"type":"reasoning","summary":@}]}', '/v1/responses'],
  ['nested arrays', '{"model":"m","input":"a","context_management":@}', '/v1/responses/input_tokens'],
  ['many keys', '{"metadata":@}', '/v1/conversations'],
  ['many keys', '{"model":"m","input":"a","x":@}', '/v1/responses'],
  ['a schema', '{"model":"m","input":"a","tools":[{"type":"function","name":"f","parameters":@}]}', '/v1/responses'],
  ['messages', '{"model":"m","input":@}', '/v1/responses'],
  ['one huge string', '{"model":"m","input":@}', '/v1/responses'],
  ['one string of commas', '{"model":"m","input":[{"role":"user","content":@}]}', '/v1/responses'],
  ['deep nests', '{"model":"m","input":@}', '/proxy/responses'],
  ['outputs to submit', '{"tool_outputs":@}', '/tokligence/responses/resp_1/submit_tool_outputs'],
] as const;

it.each(LARGEST)(
  '[F-02] 31 MiB of %s in %s at %s, compressed, neither kill the process nor hold it up',
  async (shape, place, path) => {
    const text = place.replace('@', () => SHAPES[shape](31 * MIB));
    const bytes = await compress(text);
    const attack = () => send(path, bytes, { 'content-encoding': 'gzip' });
    expect(await faultOf(`${shape} in ${place}`, text, attack)).toEqual([]);
    tried('31 MiB, compressed');
  },
  120_000,
);

it.each(['gzip', 'deflate', 'br'])(
  '[F-02] a %s bomb is inflated no further than bodyBytes',
  async (encoding) => {
    const zlib = await import('node:zlib');
    const pack = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync }[encoding];
    const bomb = pack?.(Buffer.alloc(512 * MIB, ' ')) ?? Buffer.alloc(0);
    for (const path of ['/v1/responses', '/v1/chat/completions', '/proxy/responses']) {
      const { status, ms } = await send(path, bomb, { 'content-encoding': encoding });
      expect([status, ms < 2000]).toEqual([413, true]);
      tried('bomb');
    }
  },
  120_000,
);
