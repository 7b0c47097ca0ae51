/** Which dialect answers, what the host's own options change of it, and what each does in a silence. */

import { jest } from '@jest/globals';
import {
  chatCompletionsRouter,
  chatCompletionsUpstream,
  type HeartbeatOptions,
  type Upstream,
} from '../../../src/index.ts';
import type { DialectName } from '../../../src/ports/dialect.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import { withHost } from '../../hosts/middleware/host.ts';
import { ask, eventsOf, finalOf, NAMES, outputOf, typesOf, withDialect } from './support.ts';

const CALL = { body: toolCallStream([{ id: 'call_1', name: 'look', arguments: '{}' }]) };
const READ = [
  { body: toolCallStream([{ id: 'call_1', name: 'read', arguments: '{}' }]) },
  { body: textStream('Done.') },
];
const THOUGHT = { body: textStream('Yes.').replace('"content":""', '"reasoning_content":"Hm."') };

/** How a stream of one call of the client's shows its dialect. */
function signOf(text: string): DialectName {
  if (!text.endsWith('data: [DONE]\n\n')) return 'open-responses-server';
  return text.includes('required_action') ? 'tokligence' : 'openai';
}

describe('the dialect of a request', () => {
  it('is what the host makes of it, for a stream, for JSON, for what was kept and for what is missing', () =>
    withDialect(
      // The cast: the function is given the framework's own request.
      (request) => (request as { get(name: string): string }).get('x-dialect') as DialectName,
      async ({ url, fake }) => {
        fake.reply(CALL);
        const reported = await Promise.all(
          NAMES.map(async (name) => {
            const headers = { 'x-dialect': name };
            const streamed = await ask(url, { body: { stream: true } }, headers);
            const json = await ask(url, {}, headers);
            const kept = await ask(url, { method: 'GET', path: `/responses/${finalOf(json).id}` }, headers);
            const gone = await ask(url, { method: 'GET', path: '/responses/resp_gone' }, headers);
            const call = (outputOf(json)[0] as JsonObject).status;
            expect(finalOf(kept)).toEqual(finalOf(json));
            return [signOf(streamed.text), finalOf(json).status, call, JSON.parse(gone.text).error.message];
          }),
        );
        expect(reported).toEqual([
          ['openai', 'completed', 'completed', "Response with id 'resp_gone' not found."],
          ['open-responses-server', 'completed', 'ready', "Response with id 'resp_gone' not found."],
          ['openai', 'completed', 'completed', "No response found with id 'resp_gone'."],
          ['tokligence', 'incomplete', 'completed', "Response with id 'resp_gone' not found."],
        ]);
      },
    ));

  it.each(['/', '/v1'])('[M-18] is spoken below %s', (mount) =>
    withDialect(
      'open-responses-server',
      async ({ url, fake }) => {
        fake.reply(CALL);
        const { text } = await ask(url.replace(/\/$/, ''), { body: { stream: true } });
        expect([signOf(text), outputOf({ text, status: 200, type: 'text/event-stream' })[0]?.status]).toEqual([
          'open-responses-server',
          'ready',
        ]);
      },
      { mount },
    ),
  );

  it('refuses a dialect that does not exist, by name', () => {
    const create = () => chatCompletionsRouter({ dialect: 'klingon' as DialectName });
    expect(create).toThrow(/chatCompletionsRouter: dialect .*'klingon'/);
  });

  it.each(NAMES)('[M-18] leaves the Chat Completions API as it is: %s', async (dialect) => {
    const fake = await startFakeUpstream({ reply: { body: textStream('Hello') } });
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'key' });
    const written = await withHost([chatCompletionsRouter({ upstream, dialect }) as never], async ({ post }) => {
      return (await post({ model: 'm', messages: [{ role: 'user', content: 'Go.' }], stream: true })).text();
    });
    await Promise.all([upstream.close?.(), fake.close()]);
    const chunks = written.split('\n\n').slice(0, -1);
    expect([chunks.at(-1), chunks.filter((chunk) => !/^data: (\{"id":"chatcmpl-fake"|\[DONE\])/.test(chunk))]).toEqual([
      'data: [DONE]',
      [],
    ]);
  });
});

describe('the answer of a dialect', () => {
  it.each(NAMES)('[M-05, A-11, P-12] is taken back as the next input: %s', (dialect) =>
    withDialect(dialect, async ({ url, fake }) => {
      const calls = ['read', 'look'].map((name) => ({ id: `call_${name}`, name, arguments: '{}' }));
      fake.reply({ body: toolCallStream(calls) }, { body: textStream('Done.') });
      const output = outputOf(await ask(url, {}));
      const result = { type: 'function_call_output', call_id: 'call_look', output: 'seen' };
      const next = await ask(url, { body: { input: [{ role: 'user', content: 'Go.' }, ...output, result] } });
      // The cast: the fake was sent a chat body.
      const { messages } = (fake.requests.at(-1)?.body ?? {}) as { readonly messages: readonly JsonObject[] };
      expect([next.status, messages.filter(({ role }) => role === 'tool').map(({ content }) => content)]).toEqual([
        200,
        [dialect === 'open-responses-server' ? '["a","b"]' : 'a\nb', 'seen'],
      ]);
    }),
  );
});

describe('an option of the host’s own', () => {
  it('[M-07] decides how reasoning is shown in vllm-responses', () =>
    withDialect(
      'vllm-responses',
      async ({ url, fake }) => {
        fake.reply(THOUGHT);
        const { text } = await ask(url, { body: { stream: true } });
        expect(typesOf(text).filter((type) => type.startsWith('reasoning') && type.endsWith('.delta'))).toEqual([
          'reasoning_summary_text.delta',
        ]);
      },
      { show: { reasoning: 'summary' } },
    ));

  it('[M-06] decides how the server’s calls are shown in open-responses-server', () =>
    withDialect(
      'open-responses-server',
      async ({ url, fake }) => {
        fake.reply(...READ);
        const answer = await ask(url, { body: { stream: true } });
        const [, ...snapshots] = eventsOf(answer.text).filter(({ type }) => type === 'response.in_progress');
        expect([outputOf(answer).map(({ type }) => type), snapshots]).toEqual([
          ['mcp_list_tools', 'mcp_call', 'message'],
          [],
        ]);
      },
      { show: { toolCalls: 'mcp_call' } },
    ));

  it('[M-14] decides whether open-responses-server reports that a response is queued', () =>
    withDialect(
      'open-responses-server',
      async ({ url }) => {
        const { text } = await ask(url, { body: { stream: true } });
        expect(typesOf(text).slice(0, 3)).toEqual(['created', 'queued', 'in_progress']);
      },
      { show: { queued: true } },
    ));
});

describe('a pause', () => {
  beforeEach(() => jest.useFakeTimers({ doNotFake: [...UNTOUCHED] }));
  afterEach(() => jest.useRealTimers());

  const COMMENT = ': heartbeat';
  const PING = 'event: ping';
  const KEEPALIVE = 'event: keepalive';

  it.each<readonly [DialectName, HeartbeatOptions | false | undefined, number, readonly string[]]>([
    ['openai', undefined, 15_000, [COMMENT, COMMENT, COMMENT, KEEPALIVE, COMMENT]],
    ['open-responses-server', undefined, 15_000, [COMMENT, COMMENT, COMMENT, COMMENT, COMMENT]],
    ['open-responses-server', { style: 'keepalive' }, 15_000, Array(5).fill(KEEPALIVE)],
    ['vllm-responses', undefined, 15_000, [COMMENT, COMMENT, COMMENT, KEEPALIVE, COMMENT]],
    ['tokligence', undefined, 2000, Array(5).fill(PING)],
    ['tokligence', { intervalMs: 500 }, 500, [COMMENT, COMMENT, COMMENT, KEEPALIVE, COMMENT]],
    ['tokligence', false, 60_000, []],
  ])(
    '[A-20, C-07, M-08] is filled in %s, with heartbeat %j, every %i ms',
    async (dialect, heartbeat, ms, heartbeats) => {
      const seen = await silence(dialect, heartbeat, ms);
      expect(seen.heartbeats).toEqual(heartbeats);
      expect(seen.written).toBe('Hello');
      expect(seen.numbers).toEqual([...seen.numbers.keys()]);
    },
  );
});

/** All timers but those of the heartbeats, which nothing else of a test needs. */
const UNTOUCHED = [
  'Date',
  'hrtime',
  'nextTick',
  'performance',
  'queueMicrotask',
  'setImmediate',
  'clearImmediate',
  'setTimeout',
  'clearTimeout',
] as const;

/** What five intervals of silence between two words sound like. */
async function silence(dialect: DialectName, heartbeat: HeartbeatOptions | false | undefined, ms: number) {
  let speak = () => {};
  const silent = new Promise<void>((resolve) => {
    speak = resolve;
  });
  const upstream: Upstream = {
    name: 'silent',
    async *stream() {
      yield [{ type: 'text-delta', text: 'Hel' }];
      await silent;
      yield [
        { type: 'text-delta', text: 'lo' },
        { type: 'finish', reason: 'stop' },
      ];
    },
  };
  return withDialect(
    dialect,
    async ({ url }) => {
      const requested = '{"model":"m","input":"Go.","stream":true}';
      // Where no heartbeat comes nothing else will.
      const init = { method: 'POST', body: requested, signal: AbortSignal.timeout(3000) };
      const { body } = await fetch(`${url}/responses`, { ...init, headers: { 'content-type': 'application/json' } });
      if (!body) throw new Error('No stream.');
      let text = '';
      let heartbeatSent = 0;
      for await (const piece of body.pipeThrough(new TextDecoderStream())) {
        text += piece;
        if (!text.includes('"delta":"Hel"')) continue;
        if (heartbeat === false || heartbeatSent++ === 5) speak();
        if (heartbeatSent <= 5) jest.advanceTimersByTime(ms);
      }
      const frames = text.split('\n\n').map((frame) => frame.split('\n', 1)[0] ?? '');
      const numbers = eventsOf(text).map(({ sequence_number: number }) => number);
      const written = eventsOf(text).flatMap(({ type, delta }) =>
        type === 'response.output_text.delta' ? [delta] : [],
      );
      return {
        heartbeats: frames.filter((line) => /heartbeat|keepalive|ping/.test(line)),
        numbers,
        written: written.join(''),
      };
    },
    { upstream, heartbeat },
  );
}
