/** Ten thousand requests of every kind leave nothing behind: no listener, socket, timer or memory. */

import { Agent, type IncomingMessage, request } from 'node:http';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  chatChunk,
  type FakeReply,
  type FakeRequest,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
} from '../../src/testing/index.ts';
import { type MemoryProcess, type MemoryReport, startMemoryProcess } from '../support/memory-process.ts';

const KINDS: readonly JsonObject[] = [
  { model: 'good', stream: true },
  { model: 'good' },
  { model: 'good', stream: true, store: false },
  { model: 'good', input: [{ role: 'user', content: 'Hi' }] },
  { model: 7 },
  { model: 'good', previous_response_id: 'resp_missing' },
  { model: 'refused' },
  { model: 'cut', stream: true },
  { model: 'cut' },
  { model: 'stalled', stream: true, leave: true },
];

function replyTo({ body }: FakeRequest): FakeReply {
  switch ((body as JsonObject).model) {
    case 'refused':
      return { status: 400, body: '{"error":{"message":"No."}}' };
    case 'cut':
      return { body: chatChunk({ content: 'cut' }), cutAfterBytes: 10_000 };
    case 'stalled':
      return { body: chatChunk({ content: 'stalled' }), stallAfterBytes: 10_000 };
    case 'slow end':
      return { body: [textStream('Hello'), ': that was all\n\n'], paceMs: 20 };
    default:
      return { body: textStream(['Hel', 'lo']) };
  }
}

const CLIENTS = 20;
let agent: Agent;
let fake: FakeUpstream;
let app: MemoryProcess;

beforeAll(async () => {
  agent = new Agent({ keepAlive: true, maxSockets: CLIENTS });
  fake = await startFakeUpstream({ reply: replyTo });
  app = await startMemoryProcess(fake.baseURL);
});

afterAll(() => Promise.all([app.stop(), fake.close()]));

/** One request on the agent's connections: its status, or that the client left at the first bytes. */
function statusOf({ leave, ...body }: JsonObject): Promise<number | 'left'> {
  return new Promise((resolve, reject) => {
    const headers = { 'content-type': 'application/json' };
    const requested = request(
      `${app.url}/responses`,
      { method: 'POST', agent, headers },
      (response: IncomingMessage) => {
        if (leave) response.once('data', () => requested.destroy()).once('close', () => resolve('left'));
        response.resume().once('end', () => resolve(response.statusCode ?? 0));
      },
    );
    requested.once('error', reject).end(JSON.stringify({ input: 'Hi', ...body }));
  });
}

/** So many requests, as many at a time as there are clients; how often each status came. */
async function run(count: number): Promise<Readonly<Record<string, number>>> {
  const seen: Record<string, number> = {};
  let next = 0;
  const client = async () => {
    while (next < count) {
      const kind = KINDS[next++ % KINDS.length] ?? {};
      const status = await statusOf(kind);
      seen[status] = (seen[status] ?? 0) + 1;
    }
  };
  await Promise.all(Array.from({ length: CLIENTS }, client));
  return seen;
}

/** What is left when every connection that nobody needs has been closed. */
async function settled(): Promise<MemoryReport> {
  agent.destroy();
  while (fake.openSockets > 0) await new Promise((resolve) => setTimeout(resolve, 20));
  return app.report();
}

describe('10,000 requests', () => {
  it('[P-10] leave no listener, socket, timer or memory behind', async () => {
    await run(1000);
    const before = await settled();
    const seen = await run(10_000);
    const after = await settled();

    const grown = Object.entries(after.alive).filter(([kind, count]) => count > before.alive[kind as 'timers'] + 3);
    expect(seen).toEqual({ 200: 6000, 400: 3000, left: 1000 });
    expect({
      grown,
      rejections: after.rejections,
      warnings: after.warnings.filter((text) => !EXPECTED.test(text)),
    }).toEqual({
      grown: [],
      rejections: [],
      warnings: [],
    });
    expect((after.heap - before.heap) / 1024 / 1024).toBeLessThan(3);
    // A minute on a quiet machine.
  }, 600_000);
});

describe('a connection to the model server', () => {
  it('[P-10] is kept for the next request, also where the answer ends a moment after its [DONE]', async () => {
    const index = fake.requests.length;
    await statusOf({ model: 'slow end', stream: true });
    const ending = await fake.closed(index).catch((error: Error) => error.message);
    expect(ending).toBe('The fake upstream ended its reply itself; the client did not leave before.');
  });
});

/** This is how the test counts, and failures that no hook receives are warnings of the process. */
const EXPECTED = /queryObjects|ExpressOpenResponsesWarning/;
