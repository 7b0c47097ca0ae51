/** The upstream contract, run for each upstream over a fake server that plays the scenarios in its wire. */

import { createAnthropic } from '@ai-sdk/anthropic';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { balanced, routedUpstream, withFailover, withKeys } from 'express-open-responses/routing';
import { anthropicUpstream } from 'express-open-responses/upstreams/anthropic';
import { Pool } from 'undici';
import { chatCompletionsUpstream, type Upstream } from '../../src/index.ts';
import { traced } from '../../src/observe/otel/index.ts';
import {
  chatChunk,
  chatStream,
  type FakeAnswer,
  type FakeReply,
  startFakeUpstream,
  textStream,
  toolCallStream,
  type UpstreamExtra,
  type UpstreamPlay,
  type UpstreamScenario,
  type UpstreamUnderTest,
  upstreamContract,
  upstreamScript,
} from '../../src/testing/index.ts';
import { aiSdkUpstream } from '../../src/upstreams/ai-sdk/ai-sdk-upstream.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import {
  block,
  messageStart,
  messagesError,
  messagesEvent,
  messagesStream,
  textBlock,
  thinkingBlock,
  toolBlock,
} from './messages-bytes.ts';
import {
  callItem,
  responseStart,
  responsesEvent,
  responsesExtras,
  responsesStream,
  textItem,
} from './responses-bytes.ts';

type Script = Readonly<Record<UpstreamScenario, FakeReply | readonly FakeReply[]>>;

const KEY = 'sk-contract-1234567890abcdef';
const { words, calls, message, thought, state, messages, citation } = upstreamScript;
const [first] = words;
const [call] = calls;

/** What the wire says for each of the extras. */
type Extras = Readonly<Record<UpstreamExtra, string>>;

/** What every wire plays alike, from the bytes that it says the text with and its error in a body. */
function script(
  text: string,
  written: string,
  callsText: string,
  error: string,
  refusal: (text: string) => string,
  extras: Extras,
) {
  const busy: FakeAnswer = { status: 503, headers: { 'retry-after-ms': '1' }, body: refusal('Later.') };
  return (secrets: string): Script => ({
    text: { body: text },
    calls: { body: callsText },
    refusal: { status: 400, body: refusal(message) },
    secrets: { status: 401, body: refusal(`The key of ${secrets} is wrong.`) },
    busy: [busy, { body: text }],
    failure: { body: written + error },
    cut: { body: written, cutAfterBytes: written.length },
    unfinished: { body: written },
    stall: { body: written, stallAfterBytes: written.length },
    silence: { hang: true },
    state: { body: extras.state },
    phase: { body: extras.phase },
    citations: { body: extras.citations },
  });
}

const chatScript = script(
  textStream(words),
  chatChunk({ content: first }),
  toolCallStream(calls),
  `data: ${JSON.stringify({ error: { message, type: 'server_error' } })}\n\n`,
  (text) => JSON.stringify({ error: { message: text, type: 'invalid_request_error' } }),
  {
    state: chatStream(
      { reasoning: thought, reasoning_details: [{ type: 'reasoning.encrypted', data: state, index: 0 }] },
      {
        tool_calls: [
          { index: 0, id: call.id, type: 'function', function: { name: call.name, arguments: call.arguments } },
        ],
      },
    ),
    phase: chatStream(...messages.map(({ text }) => ({ content: text }))),
    citations: chatStream(
      { content: citation.text },
      {
        annotations: [
          {
            type: 'url_citation',
            url_citation: { url: citation.url, title: citation.title, start_index: 0, end_index: citation.text.length },
          },
        ],
      },
    ),
  },
);

const messagesScript = script(
  messagesStream([textBlock(0, ...words)]),
  messageStart() + textBlock(0, first).split('\n\n').slice(0, 2).join('\n\n').concat('\n\n'),
  messagesStream(
    calls.map(({ id, name, arguments: json }, index) => toolBlock(index, id, name, json)),
    { stop: 'tool_use' },
  ),
  messagesEvent(messagesError('overloaded_error', message)),
  (text) => JSON.stringify(messagesError('invalid_request_error', text)),
  {
    state: messagesStream([thinkingBlock(0, thought, state), toolBlock(1, call.id, call.name, call.arguments)], {
      stop: 'tool_use',
    }),
    phase: messagesStream(messages.map(({ text }, index) => textBlock(index, text))),
    citations: messagesStream([
      block(
        0,
        { type: 'text', text: '', citations: [] },
        {
          type: 'citations_delta',
          citation: { type: 'web_search_result_location', url: citation.url, title: citation.title },
        },
        { type: 'text_delta', text: citation.text },
      ),
    ]),
  },
);

const responsesScript = script(
  responsesStream([textItem(0, ...words)]),
  responseStart() + textItem(0, first).split('\n\n').slice(0, 2).join('\n\n').concat('\n\n'),
  responsesStream(calls.map(({ id, name, arguments: json }, index) => callItem(index, id, name, json))),
  responsesEvent({ type: 'error', code: 'server_error', message, param: null, sequence_number: 9 }),
  (text) => JSON.stringify({ error: { message: text, type: 'invalid_request_error' } }),
  responsesExtras(),
);

/** An upstream over a fake server that plays the scenario. */
async function start(
  play: UpstreamPlay,
  scriptOf: (secrets: string) => Script,
  make: (options: { baseURL: string; apiKey: string }) => Upstream,
): Promise<UpstreamUnderTest> {
  const server = await startFakeUpstream();
  const { host } = new URL(server.baseURL);
  const replies = [scriptOf(`${KEY} at ${server.baseURL}`)[play.scenario]].flat();
  server.reply(...replies.map((reply) => ('body' in reply && play.split ? { ...reply, split: play.split } : reply)));
  const upstream = make({ baseURL: server.baseURL, apiKey: KEY });
  const close = () => Promise.all([upstream.close?.(), server.close()]);
  return { upstream, server, secrets: [KEY, host], close };
}

/** A stream that comes byte by byte is thousands of turns of the event loop. */
const patiently = (name: string, run: () => Promise<void>) => it(name, run, 120_000);

describe('chatCompletionsUpstream', () => {
  const create = (play: UpstreamPlay) => start(play, chatScript, chatCompletionsUpstream);
  upstreamContract({ it: patiently, describe, create, extras: ['state', 'citations'] });
});

/** Made where undici is another package, which cannot dispatch. */
function withoutDispatch(make: () => Upstream): Upstream {
  Object.defineProperty(Pool.prototype, 'dispatch', { value: undefined, configurable: true });
  const upstream = make();
  Reflect.deleteProperty(Pool.prototype, 'dispatch');
  return upstream;
}

describe('[X-03] chatCompletionsUpstream on Bun’s undici', () => {
  const make = (options: { baseURL: string; apiKey: string }) =>
    withoutDispatch(() => chatCompletionsUpstream(options));
  const create = (play: UpstreamPlay) => start(play, chatScript, make);
  upstreamContract({ it: patiently, describe, create, extras: ['state', 'citations'] });
});

describe('[X-09] a traced upstream', () => {
  const make = (options: { baseURL: string; apiKey: string }) =>
    traced({ upstream: chatCompletionsUpstream(options) }).upstream;
  const create = (play: UpstreamPlay) => start(play, chatScript, make);
  upstreamContract({ it: patiently, describe, create, extras: ['state', 'citations'] });
});

describe('[X-07] [B-46] responsesUpstream', () => {
  const create = (play: UpstreamPlay) => start(play, responsesScript, responsesUpstream);
  upstreamContract({ it: patiently, describe, create, extras: ['state', 'phase', 'citations'] });
});

describe('[X-11] routing upstreams', () => {
  type Options = { readonly baseURL: string; readonly apiKey: string };
  // Two servers of a case have the same names, as one server would have at another address.
  const single = (options: Options): Upstream => ({
    ...chatCompletionsUpstream(options),
    origin: undefined,
    stateOwner: 'one',
  });
  const twice = (options: Options) => [single(options), single(options)];
  const keyed = ({ baseURL, apiKey }: Options) => withKeys((key) => single({ baseURL, apiKey: key }), [apiKey]);
  const makes: Readonly<Record<string, (options: Options) => Upstream>> = {
    withFailover: (options) => withFailover(twice(options)),
    balanced: (options) => balanced(twice(options), { by: 'sticky' }),
    withKeys: keyed,
    routedUpstream: (options) => routedUpstream({ routes: { 'contract-*': single(options) } }),
    'all of them, nested': (options) =>
      routedUpstream({
        routes: { '*': withFailover([balanced([keyed(options), keyed(options)], { by: 'round-robin' })]) },
      }),
    'one that is traced, of several': (options) =>
      traced({ upstream: withFailover(twice(options).map((each) => traced({ upstream: each }).upstream)) }).upstream,
  };
  describe.each(Object.keys(makes))('%s', (name) => {
    const make = (options: Options) => (makes[name] ?? keyed)(options);
    const create = (play: UpstreamPlay) => start(play, chatScript, make);
    upstreamContract({ it: patiently, describe, create, extras: ['state', 'citations'] });
  });

  describe('over servers of another API', () => {
    const one = (options: Options) => ({ ...anthropicUpstream(options), origin: undefined, stateOwner: 'one' });
    const make = (options: Options) => balanced([one(options), one(options)]);
    const create = (play: UpstreamPlay) => start(play, messagesScript, make);
    upstreamContract({ it: patiently, describe, create, extras: ['state', 'citations'] });
  });
});

describe('anthropicUpstream', () => {
  const create = (play: UpstreamPlay) => start(play, messagesScript, anthropicUpstream);
  upstreamContract({ it: patiently, describe, create, extras: ['state', 'citations'] });
});

describe('[E-06] aiSdkUpstream', () => {
  const compatible = (options: { baseURL: string; apiKey: string }) =>
    aiSdkUpstream((model) => createOpenAICompatible({ name: 'own', includeUsage: true, ...options })(model));
  const anthropic = (options: { baseURL: string; apiKey: string }) =>
    aiSdkUpstream((model) => createAnthropic(options)(model));

  describe('over @ai-sdk/openai-compatible', () => {
    upstreamContract({ it: patiently, describe, create: (play) => start(play, chatScript, compatible) });
  });

  describe('over @ai-sdk/anthropic', () => {
    const create = (play: UpstreamPlay) => start(play, messagesScript, anthropic);
    upstreamContract({ it: patiently, describe, create, extras: ['state'] });
  });
});
