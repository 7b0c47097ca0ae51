/** What the inspector records of each API, and of the parts behind it. */
import { chatCompletionsUpstream, functionTools, type RouterOptions, type Upstream } from '../../../src/index.ts';
import type { InspectorOptions } from '../../../src/observe/inspector/index.ts';
import type { ChatBatch } from '../../../src/ports/upstream.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { balanced } from '../../../src/upstreams/routing/index.ts';
import { NOBODY } from '../../support/listening.ts';
import { type InspectedApp, startInspected } from './inspected-app.ts';

let app: InspectedApp;
/** What else a test has opened. */
const opened: (() => unknown)[] = [];

async function start(inspector: InspectorOptions = {}, options: RouterOptions = {}): Promise<InspectedApp> {
  app = await startInspected(inspector, options);
  return app;
}

afterEach(async () => {
  await app.close();
  for (const close of opened.splice(0)) await close();
});

const MESSAGE = {
  model: 'fake-model',
  max_tokens: 100,
  system: 'Private rules.',
  messages: [{ role: 'user', content: 'Hi there' }],
};

interface Seen {
  readonly body: { readonly text: string };
  readonly callList: readonly {
    readonly request: { readonly text: string };
    readonly answer: { readonly text: string };
  }[];
  readonly marks: readonly { readonly kind: string }[];
}

const seen = async (path = 'responses/1') => (await app.seen(path)) as never as Seen;

/** A model server that speaks the Messages API itself. */
const anthropic = {
  name: 'anthropic',
  async *stream() {},
  async *chat() {},
  async *messages({ stream }: { readonly stream?: unknown }): AsyncGenerator<ChatBatch> {
    const usage = { input_tokens: 3, output_tokens: 2 };
    const message = { type: 'message', id: 'msg_1', role: 'assistant', content: [], usage };
    const start = { type: 'message_start', message };
    if (!stream) yield { whole: true, data: [JSON.stringify(message)] };
    else yield { whole: false, data: [start, { type: 'message_stop' }].map((event) => JSON.stringify(event)) };
  },
};

describe('a request of the Messages API', () => {
  it('[X-10] is recorded as its client sent it, beside what the model server was sent', async () => {
    const { fake, post, rows } = await start();
    fake.reply({ body: textStream('Hello!') });
    await post(MESSAGE, {}, 'messages');
    expect(await rows()).toEqual([
      expect.objectContaining({ api: 'messages json', status: 'completed', asked: 'Hi there', model: 'fake-model' }),
    ]);
    const { body, callList } = await seen();
    expect(JSON.parse(body.text)).toEqual(MESSAGE);
    expect(JSON.parse(callList[0]?.request.text ?? '')).toEqual(fake.requests[0]?.body);
  });

  it.each([false, true])(
    '[X-10] is recorded where the model server answers it itself, streamed: %s',
    async (stream) => {
      const { post, rows } = await start({}, { upstream: anthropic as never });
      await post({ ...MESSAGE, stream }, {}, 'messages');
      expect(await rows()).toEqual([
        expect.objectContaining({
          ...{ api: stream ? 'messages stream' : 'messages json', status: 'completed' },
          ...{ asked: 'Hi there', inputTokens: 3, outputTokens: 2, firstOutput: expect.any(Number) },
        }),
      ]);
      const { body, callList } = await seen();
      expect(JSON.parse(body.text)).toEqual({ ...MESSAGE, stream });
      expect([callList.length, callList[0]?.answer.text]).toEqual([1, expect.stringContaining('msg_1')]);
    },
  );

  it('[X-10] has its system text redacted like its messages', async () => {
    const { post } = await start({ redact: ({ role }) => ({ role }) });
    await post(MESSAGE, {}, 'messages');
    await post({ ...MESSAGE, system: [{ type: 'text', text: 'Private rules.' }] }, {}, 'messages');
    const all = JSON.stringify([await seen(), await seen('responses/2'), await app.rows()]);
    expect(all).not.toMatch(/private|hi there/i);
    expect(all).toMatch(/role.*system/);
  });

  it('[X-10] is no conversation, since its client sends all messages each time', async () => {
    const { post } = await start();
    await post(MESSAGE, {}, 'messages');
    expect((await app.seen('conversations')).trees).toEqual([]);
  });
});

describe('the timeline', () => {
  const now = functionTools({ now: { description: 'The time.', execute: () => 'noon' } });

  it('[X-10] has the approvals of a response', async () => {
    const { fake, post } = await start({}, { tools: now, approval: () => true });
    fake.reply({ body: toolCallStream([{ id: 'call_1', name: 'now', arguments: '{}' }]) });
    const { id, output } = JSON.parse(await post({ model: 'fake-model', input: 'Hi' }));
    const [asked] = output.filter(({ type }: { type: string }) => type === 'mcp_approval_request');
    fake.reply({ body: textStream('Noon.') });
    const answer = { type: 'mcp_approval_response', approval_request_id: asked.id, approve: true };
    await post({ model: 'fake-model', previous_response_id: id, input: [answer] });
    expect([(await seen()).marks, (await seen('responses/2')).marks]).toEqual([
      [expect.objectContaining({ kind: 'approval', text: 'requested functions now' })],
      [expect.objectContaining({ kind: 'approval', text: 'approved functions now' })],
    ]);
    expect((await app.rows()).map(({ asked: text }) => text)).toEqual(['Approval: yes', 'Hi']);
  });

  it('[X-10] has the heartbeats of a stream', async () => {
    const { fake, post } = await start({}, { heartbeat: { intervalMs: 20 } });
    const [first = '', ...rest] = textStream(['Once', ' more']).split(/(?<=\n\n)/);
    fake.reply({ body: [first + (rest[0] ?? ''), rest.slice(1).join('')], paceMs: 120 });
    await post({ model: 'fake-model', input: 'Hi', stream: true });
    const kinds = (await seen()).marks.map(({ kind }) => kind);
    expect([kinds.length > 0, [...new Set(kinds)]]).toEqual([true, ['heartbeat']]);
  });

  it('[X-10] has the compaction of a conversation', async () => {
    const { post } = await start();
    const input = 'The contract says a great deal. '.repeat(300);
    await post({ model: 'fake-model', input, context_management: [{ type: 'compaction', compact_threshold: 1000 }] });
    expect((await seen()).marks).toContainEqual(expect.objectContaining({ kind: 'compaction' }));
  });
});

describe('the upstreams', () => {
  it('[X-10] are shown with the state of each server behind them, and with the attempts at each host', async () => {
    const model = await startFakeUpstream();
    const [eu, us] = [NOBODY, model].map(({ baseURL }) => chatCompletionsUpstream({ baseURL, retries: 0 }));
    opened.push(
      model.close,
      () => eu?.close?.(),
      () => us?.close?.(),
    );
    const targets = [
      { name: 'eu', upstream: eu as Upstream },
      { name: 'us', upstream: us as Upstream },
    ];
    const { post } = await start({}, { upstream: balanced(targets, { by: 'round-robin', breaker: { failures: 1 } }) });
    for (const input of ['one', 'two']) await post({ model: 'fake-model', input });
    const { upstreams } = (await app.seen('upstreams')) as { upstreams: { hosts: { host: string }[] }[] };
    const hosts = upstreams[0]?.hosts.toSorted((one, other) => one.host.localeCompare(other.host));
    const hostOf = ({ baseURL }: { readonly baseURL: string }) => new URL(baseURL).host;
    expect(upstreams).toEqual([
      expect.objectContaining({
        ...{ name: 'balanced', health: 'ok', calls: 2, failures: 0, retries: 1 },
        servers: [
          { name: 'eu', state: 'open', inFlight: 0, lastError: 'upstream_unavailable' },
          { name: 'us', state: 'closed', inFlight: 0, lastError: null },
        ],
        recent: [expect.objectContaining({ failed: false }), expect.objectContaining({ failed: false })],
      }),
    ]);
    expect(hosts).toEqual(
      [
        { host: hostOf(NOBODY), attempts: 1, failures: 1 },
        { host: hostOf(model), attempts: 2, failures: 0 },
      ].toSorted((one, other) => one.host.localeCompare(other.host)),
    );
  });
});
