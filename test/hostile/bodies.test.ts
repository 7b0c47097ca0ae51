/** Every hostile shape in every place of every body, at an app in a process of its own with a small heap. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { promisify } from 'node:util';
import zlib from 'node:zlib';
import { WebSocket } from 'ws';
import { allowedTime, ENDPOINTS, type EndpointName, hostileBodies, SHAPES } from '../support/hostile-bodies.ts';
import { tally } from './tally.ts';

const BYTES = 200_000;
const MIB = 1024 * 1024;
/** Megabytes. The largest body that is taken has two million values, and the text of it. */
const HEAP = 700;

const { tried } = tally('bodies');
const compress = promisify(zlib.gzip);

let child: ChildProcess;
let url: string;

beforeAll(async () => {
  child = fork(join(import.meta.dirname, 'bodies-app.ts'), {
    execArgv: [`--max-old-space-size=${HEAP}`, '--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
  });
  const [address] = await once(child, 'message');
  url = String(address);
});

afterAll(async () => {
  if (child.exitCode === null) child.kill();
});

/** The processor time that the app has taken so far; fails where it has died. */
async function spent(): Promise<number> {
  if (!child.connected) throw new Error('The app has died.');
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
    // A connection of its own: a process that was busy may just have closed the one before.
    headers: { 'content-type': 'application/json', connection: 'close', ...headers },
    body: body as string,
  });
  const text = await response.text();
  return { status: response.status, text, ms: (await spent()) - before };
}

async function idOf(path: string, body: unknown): Promise<string> {
  return JSON.parse((await send(path, JSON.stringify(body))).text).id;
}

/** What was wrong with the answer; nothing where the attack held. */
async function faultOf(name: string, allowed: number, attack: () => Promise<Sent>): Promise<readonly string[]> {
  const first = await attack();
  // Garbage of the attack before it may be collected now.
  const { status, ms } = first.ms <= allowed ? first : await attack();
  if (status < 500 && ms <= allowed) return [];
  return [`${name}: status ${status}, ${ms.toFixed(0)} ms of ${allowed.toFixed(0)}`];
}

async function pathOf(prefix: string, endpoint: EndpointName): Promise<string> {
  const path = endpoint.replace('POST ', '');
  if (!path.includes(':id')) return `${prefix}${path}`;
  if (endpoint.includes('submit_tool_outputs')) {
    const tools = [{ type: 'function', name: 'call' }];
    return `/tokligence${path.replace(':id', await idOf('/tokligence/responses', { model: 'm', input: 'Hi.', tools }))}`;
  }
  return `${prefix}${path.replace(':id', await idOf('/v1/conversations', {}))}`;
}

/** Of how many bodies one is tried: what is the same code behind another door needs not all of them. */
const SAMPLE = { '/v1': 1, '/tools': 3, '/parsed': 3, '/proxy': 1 } as const;

const PROXIED = new Set<EndpointName>(['POST /responses', 'POST /chat/completions']);
const CASES = (Object.keys(ENDPOINTS) as EndpointName[]).flatMap((endpoint) =>
  (PROXIED.has(endpoint) ? (['/v1', '/tools', '/parsed', '/proxy'] as const) : (['/v1'] as const))
    .filter((prefix) => prefix !== '/tools' || endpoint === 'POST /responses')
    .map((prefix) => [endpoint, prefix] as const),
);

it.each(CASES)(
  '[F-02] %s below %s reads no body for more than ten times its parsing',
  async (endpoint, prefix) => {
    const faults: string[] = [];
    let number = 0;
    for (const body of hostileBodies(endpoint, BYTES)) {
      number += 1;
      if (number % SAMPLE[prefix] !== 0) continue;
      const path = await pathOf(prefix, endpoint);
      const text = body.text();
      faults.push(...(await faultOf(`${prefix} ${body.name}`, await allowedTime(text), () => send(path, text))));
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
    faults.push(...(await faultOf(`WebSocket ${body.name}`, await allowedTime(text), attack(text))));
    tried('WebSocket message');
  }
  socket.terminate();
  expect(faults).toEqual([]);
}, 300_000);

/** The best compression of such a bomb takes half a minute. */
function quickBrotli(bytes: Uint8Array): Buffer {
  return zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 4 } });
}

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
    // The values of all of it would not fit into this process.
    const allowed = await allowedTime(
      place.replace('@', () => SHAPES[shape](MIB)),
      31,
    );
    expect(await faultOf(`${shape} in ${place}`, allowed, attack)).toEqual([]);
    tried('31 MiB, compressed');
  },
  120_000,
);

it.each(['gzip', 'deflate', 'br'])(
  '[F-02] a %s bomb is inflated no further than bodyBytes',
  async (encoding) => {
    const pack = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: quickBrotli }[encoding];
    const bomb = pack?.(Buffer.alloc(256 * MIB, ' ')) ?? Buffer.alloc(0);
    for (const path of ['/v1/responses', '/v1/chat/completions', '/proxy/responses']) {
      const { status, ms } = await send(path, bomb, { 'content-encoding': encoding });
      expect([status, ms < 2000]).toEqual([413, true]);
      tried('bomb');
    }
  },
  120_000,
);
