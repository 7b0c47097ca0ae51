/** The upstream contract itself: an upstream with any one of these flaws does not pass. */

import { ApiError, chatCompletionsUpstream, type Upstream } from '../../src/index.ts';
import type { ModelEvent } from '../../src/protocol/events.ts';
import type { Item } from '../../src/protocol/items.ts';
import {
  chatChunk,
  type FakeReply,
  startFakeUpstream,
  textStream,
  toolCallStream,
  type UpstreamExtra,
  type UpstreamPlay,
  upstreamContract,
  upstreamScript,
} from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { responsesExtras } from './responses-bytes.ts';

type Stream = Upstream['stream'];
type Flaw = (stream: Stream) => Stream;

const KEY = 'sk-contract-1234567890abcdef';
const { words, calls, message } = upstreamScript;
const written = chatChunk({ content: words[0] });
const error = (text: string) => JSON.stringify({ error: { message: text } });

function replies({ scenario }: UpstreamPlay, secrets: string): readonly FakeReply[] {
  switch (scenario) {
    case 'text':
      return [{ body: textStream(words) }];
    case 'calls':
      return [{ body: toolCallStream(calls) }];
    case 'refusal':
      return [{ status: 400, body: error(message) }];
    case 'secrets':
      return [{ status: 401, body: error(secrets) }];
    case 'busy':
      return [{ status: 503, headers: { 'retry-after-ms': '1' }, body: error('Later.') }, { body: textStream(words) }];
    case 'failure':
      return [{ body: `${written}data: ${error(message)}\n\n` }];
    case 'cut':
      return [{ body: written, cutAfterBytes: written.length }];
    case 'unfinished':
      return [{ body: written }];
    case 'stall':
      return [{ body: written, stallAfterBytes: written.length }];
    default:
      return [{ hang: true }];
  }
}

/** An upstream, and what its server plays. */
interface Wire {
  readonly make: (options: { baseURL: string; apiKey: string; retries: number }) => Upstream;
  readonly replies: (play: UpstreamPlay, secrets: string) => readonly FakeReply[];
  readonly extras: readonly UpstreamExtra[];
}

const CHAT: Wire = { make: chatCompletionsUpstream, replies, extras: [] };
const EXTRAS = responsesExtras();
/** The wire that has all of the extras, and plays nothing else. */
const RESPONSES: Wire = {
  make: responsesUpstream,
  replies: ({ scenario }) => [{ body: scenario in EXTRAS ? EXTRAS[scenario as UpstreamExtra] : '' }],
  extras: ['state', 'phase', 'citations'],
};

/** The names of the cases that an upstream with the flaw fails. */
async function failures(
  flaw: Flaw,
  only: RegExp,
  { retries = 2, wire = CHAT }: { retries?: number; wire?: Wire } = {},
): Promise<readonly string[]> {
  const failed: string[] = [];
  const cases: (() => Promise<void>)[] = [];
  upstreamContract({
    extras: wire.extras,
    it: (name, run) => only.test(name) && cases.push(() => run().catch(() => void failed.push(name))),
    async create(play) {
      const server = await startFakeUpstream();
      const split = play.split ?? ('whole' as const);
      server.reply(...wire.replies(play, `${KEY} ${server.baseURL}`).map((reply) => ({ ...reply, split })));
      const upstream = wire.make({ baseURL: server.baseURL, apiKey: KEY, retries });
      const close = () => Promise.all([upstream.close?.(), server.close()]);
      const secrets = [KEY, new URL(server.baseURL).host];
      return { upstream: { ...upstream, stream: flaw(upstream.stream) }, server, secrets, close };
    },
  });
  for (const run of cases) await run();
  return failed;
}

/** Does something else to each batch. */
function batches(change: (batch: readonly ModelEvent[], index: number) => Iterable<readonly ModelEvent[]>): Flaw {
  return (stream) =>
    async function* (request, call) {
      let index = 0;
      for await (const batch of stream(request, call)) yield* change(batch, index++);
    };
}

/** Replaces the thrown error. */
function throws(change: (error: unknown) => unknown): Flaw {
  return (stream) =>
    async function* (request, call) {
      try {
        yield* stream(request, call);
      } catch (thrown) {
        throw change(thrown);
      }
    };
}

function without(type: ModelEvent['type']): Flaw {
  return batches((batch) => [batch.filter((event) => event.type !== type)]);
}

const FINISH: ModelEvent = { type: 'finish', reason: 'stop' };

/** Reports every failure as a regular end. */
const finishesAlways: Flaw = (stream) =>
  async function* (request, call) {
    try {
      yield* stream(request, call);
    } catch {
      yield [FINISH];
    }
  };

const FLAWS: readonly (readonly [flaw: string, failing: string, make: Flaw])[] = [
  ['reverses the text', 'emits the text in order', batches((batch) => [batch.toReversed()])],
  ['passes on each event alone', 'passes on together', batches((batch) => batch.map((event) => [event]))],
  ['never finishes', 'emits one finish event', without('finish')],
  ['finishes first', 'emits one finish event', batches((batch, index) => (index ? [batch] : [[FINISH], batch]))],
  ['drops the usage', 'emits the complete usage', without('usage')],
  [
    'mixes the calls',
    'keeps parallel tool calls apart',
    batches((batch) => [batch.map((event) => (event.type === 'tool-call-delta' ? { ...event, call: 0 } : event))]),
  ],
  ['reports a cut answer as finished', 'if the connection is cut', finishesAlways],
  ['reports an answer without its end as finished', 'if the answer lacks its end', finishesAlways],
  [
    'throws errors of its own',
    'throws an ApiError with the status of a refusal',
    throws((thrown) => new Error(String(thrown))),
  ],
  [
    'throws errors of its own in a stream',
    'throws an error in a stream',
    throws((thrown) => new Error(String(thrown))),
  ],
  [
    'reveals secrets',
    'reveals neither key nor address',
    throws(() => new ApiError('invalid_api_key', `The key ${KEY} is wrong.`, { status: 401 })),
  ],
  [
    'repeats what was refused',
    'does not retry a refused request',
    (stream) =>
      async function* (request, call) {
        try {
          yield* stream(request, call);
        } catch {
          yield* stream(request, call);
        }
      },
  ],
  [
    'has no patience limit for the first byte',
    'if the server never answers',
    throws(() => new ApiError('upstream_unavailable', 'No.')),
  ],
  ['reports silence as a cut', 'if the server stops sending', throws(() => new ApiError('upstream_truncated', 'No.'))],
  [
    'ignores the abort',
    'closes the connection when the call is aborted',
    throws(() => new ApiError('upstream_truncated', 'No.')),
  ],
  [
    'sends a request although nobody waits',
    'sends nothing for a call that was aborted before',
    (stream) => (request, call) => stream(request, { ...call, signal: new AbortController().signal }),
  ],
  [
    'splits characters',
    'emits the same text byte by byte',
    (stream) =>
      async function* (request, call) {
        let reported = 0;
        for await (const batch of stream(request, call)) {
          reported += 1;
          yield reported === 5 ? [{ type: 'text-delta', text: '\ufffd' }, ...batch] : batch;
        }
      },
  ],
];

/** Sends other items. */
function sends(change: (items: readonly Item[]) => readonly Item[]): Flaw {
  return (stream) => (request, call) => stream({ ...request, items: change(request.items) }, call);
}

const EXTRA_FLAWS: readonly (readonly [flaw: string, failing: string, make: Flaw])[] = [
  ['drops its state', 'sends a thought back in its place', without('reasoning-end')],
  ['sends thoughts back in another place', 'sends a thought back in its place', sends((items) => items.toReversed())],
  [
    'sends the thoughts of others back',
    'sends back no thought that another upstream wrote',
    sends((items) =>
      items.map((item) =>
        item.encrypted_content ? { type: 'message', role: 'user', content: JSON.stringify(item) } : item,
      ),
    ),
  ],
  ['joins messages', 'keeps messages apart', without('message-start')],
  [
    'forgets the phases',
    'sends messages back apart',
    sends((items) => items.map(({ phase: _, ...item }): Item => ({ ...item, type: item.type }))),
  ],
  ['cites nothing', 'emits citations', without('annotation')],
  [
    'cites another place',
    'emits citations',
    batches((batch) => [
      batch.map((event) =>
        event.type === 'annotation' ? { ...event, annotation: { ...event.annotation, start_index: 3 } } : event,
      ),
    ]),
  ],
];

/** A stream that comes byte by byte is thousands of turns of the event loop; in milliseconds. */
const PATIENCE = 120_000;

describe('the upstream contract', () => {
  it(
    'passes an upstream without a flaw',
    async () => {
      expect(await failures((stream) => stream, /./)).toEqual([]);
    },
    PATIENCE,
  );

  it.each(FLAWS)(
    '[X-05] [X-07] fails one that %s, in the case that it %s',
    async (_flaw, failing, make) => {
      expect(await failures(make, new RegExp(failing))).toEqual([expect.stringContaining(failing)]);
    },
    PATIENCE,
  );

  it('[X-05] [X-07] passes a wire that has all of the extras', async () => {
    const extra = /thought|messages apart|cited|same (messages|citations)/;
    expect(await failures((stream) => stream, extra, { wire: RESPONSES })).toEqual([]);
  });

  it.each(EXTRA_FLAWS)('[X-05] [X-07] fails one that %s, in the case that it %s', async (_flaw, failing, make) => {
    const failed = await failures(make, new RegExp(failing), { wire: RESPONSES });
    expect(failed).toEqual([expect.stringContaining(failing)]);
  });

  it('[X-05] [X-07] fails one that leaves messages out of the next request', async () => {
    const silent = sends((items) => items.filter(({ phase }) => phase !== 'commentary'));
    const failing = 'sends all messages back';
    expect(await failures(silent, new RegExp(failing))).toEqual([expect.stringContaining(failing)]);
  });

  it('[X-05] [X-07] fails one that does not retry', async () => {
    expect(await failures((stream) => stream, /retries if/, { retries: 0 })).toEqual([
      expect.stringContaining('retries if'),
    ]);
  });

  it('[X-05] names each case once, with the requirement that it proves', () => {
    const names: string[] = [];
    const extras = RESPONSES.extras;
    upstreamContract({
      extras,
      it: (name) => names.push(name),
      create: () => Promise.reject(new Error('Nothing runs.')),
    });
    expect([new Set(names).size, names.filter((name) => !name.includes('[X-07]'))]).toEqual([names.length, []]);
  });
});
