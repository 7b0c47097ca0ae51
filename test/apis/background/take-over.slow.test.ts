/** Responses that another process goes on with: two routers over one store, and a model server that stops in between. */

import { setTimeout as pause } from 'node:timers/promises';
import { chatCompletionsUpstream, type RouterOptions, type ToolProvider } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { encryptedStore } from '../../../src/stores/encrypted/encrypted-store.ts';
import { sqliteStore } from '../../../src/stores/sqlite/sqlite-store.ts';
import {
  chatChunk,
  type FakeResponder,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from '../../../src/testing/index.ts';
import { ask, askJson, errorIn, parseStream, type Stream, send } from '../../http/client.ts';
import { sqliteDrivers } from '../../stores/sqlite-drivers.ts';
import { type App, startApp } from '../../support/app.ts';
import { gate } from '../../support/gate.ts';
import { HOUR_LONG_LIMITS } from '../../support/patience.ts';
import { expectWireLaws, readWire } from '../../support/wire-laws.ts';
import { HandQueue } from './hand-engine.ts';

const apps: App[] = [];
let model: FakeUpstream;
let queue: HandQueue;
let database: { close(): void };
let store: RouterOptions['store'];

beforeEach(async () => {
  model = await startFakeUpstream();
  queue = new HandQueue();
  const opened = sqliteDrivers[0]?.open?.(':memory:');
  if (!opened) throw new Error('No SQLite.');
  database = opened;
  store = sqliteStore({ database: opened });
});
afterEach(async () => {
  await Promise.all([...apps.splice(0).map(stopped), model.close()]);
  database.close();
});

async function join(options: RouterOptions = {}): Promise<App> {
  const upstream = chatCompletionsUpstream({ baseURL: model.baseURL, apiKey: 'key', retries: 0 });
  const shared = { store, upstream, secret: 'a key of sixteen bytes', scope: () => 'one', logger: false } as const;
  // What a test leaves behind gives up soon: its database is closed.
  const limits = {
    tools: { timeoutMs: 10_000 },
    ...options.limits,
    turns: { durationMs: 30_000, ...options.limits?.turns },
  };
  const app = await startApp({ options: { ...shared, background: { engine: queue.engine() }, ...options, limits } });
  apps.push(app);
  return app;
}

/** Ends what the app still runs, which would keep the process of the tests alive. */
async function stopped(app: App): Promise<void> {
  await app.router.drain({ timeoutMs: 1 });
  await app.close();
}

/** Begins a response in the background whose model stops in the middle. */
async function begun(app: App, body: JsonObject = {}): Promise<string> {
  const queued = await askJson(app.url, { background: true, stream: false, ...body });
  return String(queued.id);
}

/** The store as one that other processes share: its log answers later. */
function slowly(store: RouterOptions['store']): RouterOptions['store'] {
  if (!store?.events) throw new Error('No log.');
  const { events } = store;
  return {
    ...store,
    events: {
      ...events,
      async append(key, append) {
        await pause(300);
        return events.append(key, append);
      },
    },
  };
}

/** The store, which answers no more once it has the end of a response. */
function keepingOnce(store: RouterOptions['store'], onEnd: () => void): RouterOptions['store'] {
  if (!store) throw new Error('No store.');
  return {
    ...store,
    async replace(response, version) {
      const isReplaced = (await store.replace?.(response, version)) === true;
      if (response.resource.status === 'in_progress') return isReplaced;
      onEnd();
      return new Promise<never>(() => {});
    },
  };
}

/** The store, which fails when it is to keep the end of a response; it has kept it all the same if `isKept`. */
function failingAtEnd(store: RouterOptions['store'], isKept: boolean): RouterOptions['store'] {
  if (!store) throw new Error('No store.');
  return {
    ...store,
    async replace(response, version) {
      const isEnd = response.resource.status !== 'in_progress';
      const isReplaced = (!isEnd || isKept) && (await store.replace?.(response, version)) === true;
      if (isEnd) throw new Error('The connection was lost.');
      return isReplaced;
    },
  };
}

/** The store, whose log takes no events the first time. */
function refusingOnce(store: RouterOptions['store']): RouterOptions['store'] {
  if (!store?.events) throw new Error('No log.');
  const { events } = store;
  let isDown = true;
  return {
    ...store,
    events: {
      ...events,
      append(key, append) {
        if (!isDown) return events.append(key, append);
        isDown = false;
        throw new Error('down');
      },
    },
  };
}

/** The store, which waits before it replaces a response by its end. */
function waitingAtEnd(store: RouterOptions['store'], onEnd: () => void, wait: Promise<void>): RouterOptions['store'] {
  if (!store) throw new Error('No store.');
  return {
    ...store,
    async replace(response, version) {
      if (response.resource.status !== 'in_progress') {
        onEnd();
        await wait;
      }
      return (await store.replace?.(response, version)) === true;
    },
  };
}

/** The store, which waits before it adds the items of a turn to its conversation. */
function waitingToAppend(
  store: RouterOptions['store'],
  onAppend: () => void,
  wait: Promise<void>,
): RouterOptions['store'] {
  if (!store?.conversations) throw new Error('No conversations.');
  const { conversations } = store;
  return {
    ...store,
    conversations: {
      ...conversations,
      async append(key, items, terms) {
        onAppend();
        await wait;
        return conversations.append(key, items, terms);
      },
    },
  };
}

/** The texts of a conversation's messages, oldest first. */
async function said(app: App, conversation: unknown): Promise<readonly string[]> {
  const { data } = (await send(`${app.url}/conversations/${conversation}/items?order=asc`)).body;
  // The cast: messages alone are there.
  return (data as readonly { content: readonly { text: string }[] }[]).map(({ content }) => content[0]?.text ?? '');
}

/** The store over a client that loses the first answer to such a command, and sends the command again, as ioredis does. */
function repeating(store: RouterOptions['store'], command: 'append' | 'claim' | 'replace'): RouterOptions['store'] {
  if (!store?.events) throw new Error('No log.');
  const { events } = store;
  let isLost = false;
  const sent = async <Result>(isMeant: boolean, work: () => Result | Promise<Result>): Promise<Result> => {
    if (isMeant && !isLost) await work();
    isLost ||= isMeant;
    return work();
  };
  return {
    ...store,
    async replace(response, version) {
      const isEnd = response.resource.status !== 'in_progress';
      return (await sent(command === 'replace' && isEnd, () => store.replace?.(response, version))) === true;
    },
    events: {
      ...events,
      append: (key, append) => sent(command === 'append' && append.from > 0, () => events.append(key, append)),
      claim: (...given) => sent(command === 'claim', () => events.claim(...given)),
    },
  };
}

/** The store, whose log cannot be ended or deleted the first time. */
function failingOnce(store: RouterOptions['store']): RouterOptions['store'] {
  if (!store?.events) throw new Error('No log.');
  const { events } = store;
  let isDown = true;
  const once = <Result>(work: () => Result): Result => {
    if (!isDown) return work();
    isDown = false;
    throw new Error('down');
  };
  return {
    ...store,
    events: {
      ...events,
      end: (...given) => once(() => events.end(...given)),
      delete: (...given) => once(() => events.delete(...given)),
    },
  };
}

const keyOf = (id: string) => ({ scope: 'one', id });
const STALLED: (text: string) => FakeResponder = (text) => ({
  body: chatChunk({ content: text }),
  stallAfterBytes: 1e6,
});

/** Begins a response whose model stops after this text, and goes on so when it is asked again; resolves once the text can be read. */
async function stalledAt(app: App, text: string, ...again: readonly FakeResponder[]): Promise<string> {
  model.reply(STALLED(text), ...again);
  const id = await begun(app);
  await logged(app, id, 'response.output_text.delta');
  return id;
}

/** Follows from the first event to the last. */
async function followed(app: App, id: string, query = ''): Promise<Stream> {
  return parseStream(await (await fetch(`${app.url}/responses/${id}?stream=true${query}`)).text());
}

/** Resolves when the log holds an event of this type. */
async function logged(app: App, id: string, type: string): Promise<void> {
  const response = await fetch(`${app.url}/responses/${id}?stream=true`);
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(bytes, { stream: true });
    if (text.includes(`event: ${type}\n`)) return;
  }
}

/** Role and content of the messages of this request. */
function messagesOf(index: number): readonly (readonly unknown[])[] {
  const body = (model.requests[index]?.body ?? {}) as JsonObject;
  // The cast: what the upstream sends.
  const messages = body.messages as readonly JsonObject[];
  return messages.map(({ role, content }) => [role, content]);
}

/** What everybody agrees on in the end: a third router's whole stream, which keeps the laws, and the stored response. */
async function settledOn(app: App, id: string): Promise<JsonObject> {
  const stream = await followed(app, id);
  const whole = (await send(`${app.url}/responses/${id}`)).body;
  expect(expectWireLaws(readWire(stream.text))).toEqual(whole);
  return whole;
}

const textsOf = ({ output }: JsonObject) =>
  [...JSON.stringify(output).matchAll(/"text":"([^"]*)"/g)].map(([, text]) => text);
const typesIn = ({ output }: JsonObject) => (output as readonly JsonObject[]).map(({ type, status }) => [type, status]);

/** Tools that count their runs; `slow` never answers the first time, or the first times. */
function countedTools(annotations?: JsonObject, lost = 1) {
  const runs: string[] = [];
  const never = new Promise<never>(() => {});
  const tools: ToolProvider = {
    name: 'counted',
    list: () => ['quick', 'slow'].map((name) => ({ server: 'counted', name, annotations })),
    async call({ name }) {
      runs.push(name);
      if (name === 'slow' && runs.filter((run) => run === 'slow').length <= lost) await never;
      return { content: `${name}ly` };
    },
  };
  return { runs, tools };
}

const CALLS = (...names: readonly string[]): FakeResponder => ({
  body: toolCallStream(names.map((name, index) => ({ id: `call_${name}${index}`, name, arguments: '{}' }))),
});

/** A call whose arguments were torn, and the items of a turn that lost one: the model was asked again. */
const TORN = chatChunk({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'quick', arguments: '{"a' } }] });
const ASKED_AGAIN = [
  ['message', 'completed'],
  ['mcp_list_tools', 'completed'],
  ['mcp_call', 'completed'],
  ['message', 'completed'],
];

describe('a response whose process is gone', () => {
  it('[S-18] goes on after torn text, in a message of its own, and nobody sees a gap', async () => {
    const one = await join();
    await join();
    const three = await join();
    const id = await stalledAt(one, 'Hello', { body: textStream(' there') });
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const whole = await settledOn(three, id);
    expect([whole.status, textsOf(whole)]).toEqual(['completed', ['Hello', ' there']]);
    expect(messagesOf(1).map(([role]) => role)).toEqual(['user', 'assistant', 'user']);
    expect(messagesOf(1)[1]).toEqual(['assistant', 'Hello']);
  });

  it('[S-18] begins where its process never began', async () => {
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    await join();
    model.reply({ body: textStream('Hello') });
    const id = await begun(one);
    const { status } = (await send(`${one.url}/responses/${id}`)).body;
    await queue.hand(1, keyOf(id)).outcome;
    const whole = await settledOn(one, id);
    expect([status, whole.status, textsOf(whole), model.requests.length]).toEqual([
      'in_progress',
      'completed',
      ['Hello'],
      1,
    ]);
  });

  it('[S-18] is followed without a break by a client that came before', async () => {
    const one = await join();
    await join();
    model.reply(STALLED('Hello'), { body: textStream(' there') });
    const streaming = ask(one.url, { background: true, stream: true });
    const response = await streaming;
    const [{ id }] = await waitForSubmission();
    await logged(one, id, 'response.output_text.delta');
    await queue.hand(1, keyOf(id)).outcome;
    const stream = parseStream(await response.text());
    const { output } = expectWireLaws(readWire(stream.text)) as JsonObject;
    expect(textsOf({ output })).toEqual(['Hello', ' there']);
  });

  it('[S-18] resumes behind any number with exactly the rest', async () => {
    const one = await join();
    await join();
    const id = await stalledAt(one, 'Hello', { body: textStream(' there') });
    await queue.hand(1, keyOf(id)).outcome;
    const { events } = await followed(one, id);
    for (const { sequence_number: after } of events.slice(0, -1)) {
      const rest = await followed(one, id, `&starting_after=${after}`);
      expect(rest.events).toEqual(events.slice(after + 1));
    }
  });

  /** Begins a response on one process, and hands it to another once the event of this type is in the log. */
  async function handedOver(
    tools: ReturnType<typeof countedTools>['tools'],
    type: string,
    ...replies: readonly FakeResponder[]
  ) {
    const one = await join({ tools });
    await join({ tools });
    model.reply(...replies);
    const id = await begun(one);
    await logged(one, id, type);
    await queue.hand(1, keyOf(id)).outcome;
    return settledOn(one, id);
  }

  it('[S-18] shows no call whose arguments were torn: the model is asked again', async () => {
    const { tools, runs } = countedTools();
    const torn = { body: [chatChunk({ content: 'Wait.' }), TORN], stallAfterBytes: 1e6 };
    const last = { body: textStream('Done') };
    const whole = await handedOver(tools, 'response.output_text.delta', torn, CALLS('quick'), last);
    expect(typesIn(whole)).toEqual(ASKED_AGAIN);
    expect([runs, textsOf(whole)]).toEqual([['quick'], ['Wait.', 'Done']]);
  });

  it('[S-18] shows at once what the model wrote before a call, also where both came together', async () => {
    const { tools } = countedTools();
    const torn = { body: chatChunk({ content: 'Wait.' }) + TORN, stallAfterBytes: 1e6 };
    const last = { body: textStream('Done') };
    const whole = await handedOver(tools, 'response.output_text.done', torn, CALLS('quick'), last);
    expect(typesIn(whole)).toEqual(ASKED_AGAIN);
    expect(messagesOf(1)).toEqual([
      ['user', 'Hi'],
      ['assistant', 'Wait.'],
    ]);
  });

  it('[S-18] shows at once what came together with a call while the first events were still written', async () => {
    const { tools } = countedTools();
    store = slowly(store);
    const one = await join({ tools });
    model.reply({ body: chatChunk({ content: 'Wait.' }) + TORN, stallAfterBytes: 1e6 });
    const id = await begun(one);
    // Without an end: it would wait until the model's server is given up.
    await logged(one, id, 'response.output_text.done');
    expect(model.requests.length).toBe(1);
  }, 10_000);

  it('[S-18] keeps finished results, and informs the model of a tool that was lost while it ran', async () => {
    const { tools, runs } = countedTools();
    const last = { body: textStream('Done') };
    const whole = await handedOver(tools, 'response.mcp_call.completed', CALLS('quick', 'slow'), last);
    const [, quick, slow] = whole.output as readonly JsonObject[];
    expect([runs, quick?.output, slow?.status, JSON.stringify(slow?.error)]).toEqual([
      ['quick', 'slow'],
      'quickly',
      'failed',
      expect.stringMatching(/not run again/),
    ]);
    expect(messagesOf(1).map(([role]) => role)).toEqual(['user', 'assistant', 'tool', 'tool']);
  });

  it('[S-18] runs no tool before the log knows of its call', async () => {
    const { tools, runs } = countedTools();
    store = slowly(store);
    const one = await join({ tools });
    await join({ tools });
    model.reply(CALLS('slow'), { body: textStream('Done') });
    const id = await begun(one);
    while (runs.length === 0) await pause(1);
    await queue.hand(1, keyOf(id)).outcome;
    const whole = await settledOn(one, id);
    expect([runs, typesIn(whole)]).toEqual([
      ['slow'],
      [
        ['mcp_list_tools', 'completed'],
        ['mcp_call', 'failed'],
        ['message', 'completed'],
      ],
    ]);
  });

  it.each([
    ['completed', { body: textStream('Hello') }],
    ['failed', { body: [chatChunk({ role: 'assistant', content: 'Hel' }), chatChunk({ content: 'lo' })] }],
  ] as const)('[S-18] has the end that was stored, %s, where only the log lacks it', async (status, reply) => {
    const kept = store;
    const isKept = new Promise<void>((resolve) => {
      store = slowly(keepingOnce(kept, resolve));
    });
    const one = await join();
    store = kept;
    const two = await join();
    model.reply(reply);
    const id = await begun(one);
    await isKept;
    await queue.hand(1, keyOf(id)).outcome;
    const whole = await settledOn(two, id);
    expect([whole.status, whole.model, textsOf(whole), model.requests.length]).toEqual([
      status,
      'fake-model',
      ['Hello'],
      1,
    ]);
  });

  it('[S-18] has the end that was stored where the log failed when it was to be written', async () => {
    const kept = store;
    const isKept = new Promise<void>((resolve) => {
      store = slowly(keepingOnce(kept, resolve));
    });
    const one = await join();
    store = refusingOnce(kept);
    await join();
    model.reply({ body: textStream('Hello') });
    const id = await begun(one);
    await isKept;
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('released');
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const whole = await settledOn(one, id);
    expect([whole.status, textsOf(whole)]).toEqual(['completed', ['Hello']]);
  });

  it('[S-18] stays in its conversation where its first process ends it too late', async () => {
    const kept = store;
    let goOn = () => {};
    const isLate = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const atEnd = new Promise<void>((resolve) => {
      store = waitingAtEnd(kept, resolve, isLate);
    });
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    store = kept;
    const two = await join();
    const conversation = (await send(`${two.url}/conversations`, 'POST')).body.id;
    model.reply({ body: textStream('Hello') });
    const id = await begun(one, { conversation });
    const first = queue.hand(0, keyOf(id));
    await atEnd;
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    goOn();
    await first.outcome;
    const { data } = (await send(`${two.url}/conversations/${conversation}/items?order=asc`)).body;
    const [{ status }, roles] = [await settledOn(two, id), (data as readonly JsonObject[]).map(({ role }) => role)];
    expect([status, roles]).toEqual(['completed', ['user', 'assistant']]);
  });

  it('[G-10] adds nothing to its conversation when its first process wakes up, which was about to', async () => {
    const kept = store;
    const [wokenUp, asleep] = [gate(), gate()];
    store = waitingToAppend(kept, asleep.open, wokenUp.opened);
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    store = kept;
    const two = await join();
    const conversation = (await send(`${two.url}/conversations`, 'POST')).body.id;
    for (const text of ['Of the first', 'Of the second']) model.reply({ body: textStream(text) });
    const id = await begun(one, { conversation, input: 'Hello?' });
    const first = queue.hand(0, keyOf(id));
    await asleep.opened;
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    wokenUp.open();
    await first.outcome;
    expect(await said(two, conversation)).toEqual(['Hello?', ...textsOf(await settledOn(two, id))]);
  });

  it('[G-10] has its answer once in its conversation where its first process was lost between the two writes', async () => {
    const kept = store;
    const atEnd = gate();
    store = waitingAtEnd(kept, atEnd.open, new Promise(() => {}));
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    store = kept;
    const two = await join();
    const conversation = (await send(`${two.url}/conversations`, 'POST')).body.id;
    for (const text of ['Of the first', 'Of the second']) model.reply({ body: textStream(text) });
    const id = await begun(one, { conversation, input: 'Hello?' });
    void queue.hand(0, keyOf(id));
    await atEnd.opened;
    const early = await said(two, conversation);
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const late = await said(two, conversation);
    expect([early, late]).toEqual([
      ['Hello?', 'Of the first'],
      ['Hello?', ...textsOf(await settledOn(two, id))],
    ]);
    // The model is not shown what its lost process had added.
    for (const { body } of model.requests) expect(JSON.stringify(body).split('Hello?')).toHaveLength(2);
  });

  it('[G-10] leaves nothing in its conversation if it is cancelled while its process sleeps', async () => {
    const kept = store;
    const [wokenUp, asleep] = [gate(), gate()];
    store = waitingToAppend(kept, asleep.open, wokenUp.opened);
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    store = kept;
    const two = await join();
    const conversation = (await send(`${two.url}/conversations`, 'POST')).body.id;
    model.reply({ body: textStream('Too late') });
    const id = await begun(one, { conversation });
    const first = queue.hand(0, keyOf(id));
    await asleep.opened;
    const cancelled = await send(`${two.url}/responses/${id}/cancel`, 'POST');
    wokenUp.open();
    await first.outcome;
    expect([cancelled.body.status, await said(two, conversation)]).toEqual(['cancelled', []]);
  });

  it.each([
    ['completed', 'not kept', { body: textStream('Hello') }],
    ['completed', 'kept', { body: textStream('Hello') }],
    ['failed', 'kept', { body: [chatChunk({ role: 'assistant', content: 'Hel' }), chatChunk({ content: 'lo' })] }],
  ] as const)(
    '[S-18] ends elsewhere, %s, where the store failed at its end and had %s it',
    async (status, isKept, reply) => {
      const kept = store;
      store = failingAtEnd(kept, isKept === 'kept');
      queue = new HandQueue({ runsAtOnce: false });
      // Of other responses it would show the end.
      const one = await join({ onStoreError: 'continue' });
      store = kept;
      const two = await join();
      model.reply(reply);
      const streaming = ask(one.url, { background: true, stream: true });
      const [{ id }] = await waitForSubmission();
      const follower = streaming.then((response) => response.text());
      expect(await queue.hand(0, keyOf(id)).outcome).toBe('released');
      expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
      const whole = await settledOn(two, id);
      expect([whole.status, textsOf(whole), model.requests.length]).toEqual([status, ['Hello'], 1]);
      expect(expectWireLaws(readWire(await follower))).toEqual(whole);
    },
  );

  it('[S-18] runs a tool again that declares that this does no harm', async () => {
    const { tools, runs } = countedTools({ idempotentHint: true });
    const one = await join({ tools });
    await join({ tools });
    model.reply(CALLS('quick', 'slow'), { body: textStream('Done') });
    const id = await begun(one);
    await logged(one, id, 'response.mcp_call.completed');
    await queue.hand(1, keyOf(id)).outcome;
    const [, quick, slow] = (await settledOn(one, id)).output as readonly JsonObject[];
    expect([runs, quick?.output, slow?.output]).toEqual([['quick', 'slow', 'slow'], 'quickly', 'slowly']);
  });

  it('[S-18] [E-09] goes on with the prompt as it was, though its newest version is another now', async () => {
    const first = await join({ prompts: { weather: { version: '1', instructions: 'Report {{what}}.' } } });
    const second = await join({ prompts: { weather: { version: '2', instructions: 'Sing of {{what}}.' } } });
    model.reply(STALLED('One, '), { body: textStream(['two.']) });
    const id = await begun(first, { prompt: { id: 'weather', variables: { what: 'rain' } } });
    await logged(first, id, 'response.output_text.delta');
    await queue.hand(1, keyOf(id)).outcome;
    const { status, instructions, prompt } = (await send(`${second.url}/responses/${id}`)).body;
    expect([status, instructions, prompt, messagesOf(1)[0]]).toEqual([
      'completed',
      'Report rain.',
      { id: 'weather', version: '1', variables: { what: 'rain' } },
      ['system', 'Report rain.'],
    ]);
  });

  it('[S-18] still offers the tools that the model had found', async () => {
    const { tools: counted } = countedTools();
    const list = ['quick', 'slow'].map((name) => ({ server: 'counted', name, deferred: true }));
    const tools: ToolProvider = { ...counted, list: () => list };
    const one = await join({ tools });
    await join({ tools });
    const call = { id: 'call_s', name: 'tool_search', arguments: '{"query":"quick"}' };
    model.reply({ body: toolCallStream([call]) }, STALLED('I found it.'), { body: textStream('Done') });
    const id = await begun(one);
    await logged(one, id, 'response.output_text.delta');
    await queue.hand(1, keyOf(id)).outcome;
    const whole = await settledOn(one, id);
    // The cast: what the upstream sends.
    const offers = model.requests.map(({ body }) =>
      ((body as JsonObject).tools as readonly { function: JsonObject }[]).map((tool) => tool.function.name),
    );
    expect([typesIn(whole).map(([type]) => type), offers, messagesOf(2)[2]]).toEqual([
      ['tool_search_call', 'tool_search_output', 'message', 'message'],
      [['tool_search'], ['tool_search', 'quick'], ['tool_search', 'quick']],
      ['tool', '{"found":["quick"]}'],
    ]);
  });

  it('[S-18] has every event of a call that runs beside a search for tools', async () => {
    const { open: begin, opened: hasBegun } = gate();
    const { tools: counted, runs } = countedTools();
    const tools: ToolProvider = {
      ...counted,
      list: () => ['quick', 'slow'].map((name) => ({ server: 'counted', name, deferred: name === 'quick' })),
      call: (call, context) => {
        begin();
        return counted.call(call, context);
      },
    };
    const one = await join({ tools });
    await join({ tools });
    const search = { id: 'call_s', name: 'tool_search', arguments: '{"query":"quick"}' };
    const body = toolCallStream([{ id: 'call_1', name: 'slow', arguments: '{}' }, search]);
    model.reply({ body, split: 'byte' }, { body: textStream('Done') });
    const id = await begun(one);
    await hasBegun;
    await queue.hand(1, keyOf(id)).outcome;
    const shown = [
      ['mcp_list_tools', 'completed'],
      ['mcp_call', 'failed'],
      ['tool_search_call', 'completed'],
      ['tool_search_output', 'completed'],
      ['message', 'completed'],
    ];
    expect([typesIn(await settledOn(one, id)), runs]).toEqual([shown, ['slow']]);
  });

  it('[S-18] is cancelled with all that was finished, whichever process had done it', async () => {
    const { tools } = countedTools();
    const one = await join({ tools });
    const two = await join({ tools });
    const { open: ask, opened: isAsked } = gate();
    const asked: FakeResponder = () => {
      ask();
      return { hang: true };
    };
    model.reply(CALLS('quick'), STALLED('Hello'), asked);
    const id = await begun(one);
    await logged(one, id, 'response.output_text.delta');
    const taken = queue.hand(1, keyOf(id));
    await isAsked;
    await send(`${two.url}/responses/${id}/cancel`, 'POST');
    await taken.outcome;
    const whole = (await send(`${one.url}/responses/${id}`)).body;
    const ended = (await followed(one, id)).events.flatMap(({ type, item }) =>
      type === 'response.output_item.done' ? [item] : [],
    );
    expect([whole.status, whole.output]).toEqual(['cancelled', ended]);
    expect(typesIn(whole)).toEqual([
      ['mcp_list_tools', 'completed'],
      ['mcp_call', 'completed'],
      ['message', 'completed'],
    ]);
  });

  it('[S-18] writes nothing more itself if it comes back', async () => {
    const one = await join();
    await join();
    const [late, rest] = [chatChunk({ content: ' from the dead' }), textStream('!')];
    model.reply({ body: [chatChunk({ content: 'Hello' }), late, rest], paceMs: 400 }, { body: textStream(' there') });
    const id = await begun(one);
    await logged(one, id, 'response.output_text.delta');
    const left = model.closed(0);
    await queue.hand(1, keyOf(id)).outcome;
    await left;
    expect(textsOf(await settledOn(one, id))).toEqual(['Hello', ' there']);
  });

  it('[S-18] ends as failed when three processes have failed at it', async () => {
    const one = await join();
    await join();
    const id = await stalledAt(one, 'Hello');
    for (let tries = 1; tries < 3; tries += 1) {
      const { next } = (await store?.events?.heads([keyOf(id)]))?.[0] ?? { next: 0 };
      void queue.hand(1, keyOf(id));
      await followedUntil(one, id, next);
    }
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const whole = await settledOn(one, id);
    expect([whole.status, (whole.error as JsonObject).message]).toEqual(['failed', expect.stringMatching(/3 servers/)]);
  });

  it('[S-18] ends the call that three processes have failed at', async () => {
    const { tools, runs } = countedTools({ idempotentHint: true }, 3);
    const one = await join({ tools });
    await join({ tools });
    model.reply(CALLS('slow'));
    const id = await begun(one);
    for (let tries = 1; tries < 3; tries += 1) {
      while (runs.length < tries) await pause(5);
      void queue.hand(1, keyOf(id));
    }
    while (runs.length < 3) await pause(5);
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const whole = await settledOn(one, id);
    expect([whole.status, typesIn(whole).at(-1)]).toEqual(['failed', ['mcp_call', 'incomplete']]);
  });

  it('[S-18] goes on without a tool that is no longer there', async () => {
    const { tools } = countedTools();
    const one = await join({ tools });
    await join();
    model.reply(CALLS('slow'), { body: textStream('Done') });
    const id = await begun(one);
    await logged(one, id, 'response.mcp_call.in_progress');
    await queue.hand(1, keyOf(id)).outcome;
    const whole = await settledOn(one, id);
    expect([whole.status, typesIn(whole).slice(-2)]).toEqual([
      'completed',
      [
        ['mcp_call', 'failed'],
        ['message', 'completed'],
      ],
    ]);
  });

  it('[S-18] is handed over without a lost try', async () => {
    const one = await join();
    await join();
    const id = await stalledAt(one, 'a');
    for (let times = 0; times < 5; times += 1) {
      const { next } = (await store?.events?.heads([keyOf(id)]))?.[0] ?? { next: 0 };
      const run = queue.hand(1, keyOf(id));
      await followedUntil(one, id, next);
      run.release();
      expect(await run.outcome).toBe('released');
    }
    model.reply({ body: textStream('!') });
    await queue.hand(1, keyOf(id)).outcome;
    const whole = await settledOn(one, id);
    expect([whole.status, textsOf(whole)]).toEqual(['completed', ['a', 'a', 'a', 'a', 'a', 'a', '!']]);
  });
});

describe('a response whose database receives a command twice', () => {
  it.each([
    ['append', ['ended']],
    ['replace', ['released', 'ended']],
  ] as const)('[S-18] ends once, where the command is %s', async (command, outcomes) => {
    queue = new HandQueue({ runsAtOnce: false });
    store = repeating(store, command);
    const one = await join();
    model.reply({ body: textStream('Hello') });
    const id = await begun(one);
    for (const outcome of outcomes) expect(await queue.hand(0, keyOf(id)).outcome).toBe(outcome);
    const whole = await settledOn(one, id);
    expect([whole.status, textsOf(whole)]).toEqual(['completed', ['Hello']]);
  });

  it('[S-18] is taken over, where the command is claim', async () => {
    const one = await join();
    store = repeating(store, 'claim');
    await join();
    const id = await stalledAt(one, 'Hello', { body: textStream(' there') });
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('released');
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const whole = await settledOn(one, id);
    expect([whole.status, textsOf(whole)]).toEqual(['completed', ['Hello', ' there']]);
  });

  it('[S-18] ends for its reader where no other process goes on with it', async () => {
    store = repeating(store, 'replace');
    const one = await join({ background: { engine: undefined, durable: true } });
    model.reply({ body: textStream('Hello') });
    const stream = parseStream(await (await ask(one.url, { stream: true })).text());
    expect(stream.events.at(-1)?.type).toBe('response.completed');
  });
});

describe('a response that a process cannot take over now', () => {
  it('[S-18] waits for one with a free place, and loses no try and no event to those without', async () => {
    const one = await join();
    const two = await join({ limits: { turns: { concurrentTurns: 1 } } });
    const id = await stalledAt(one, 'Hello', STALLED('busy'), { body: textStream(' there') });
    const client = new AbortController();
    await ask(two.url, { stream: true }, { signal: client.signal });
    const [before] = (await store?.events?.heads([keyOf(id)])) ?? [];
    for (let times = 0; times < 3; times += 1) expect(await queue.hand(1, keyOf(id)).outcome).toBe('released');
    expect(await store?.events?.heads([keyOf(id)])).toEqual([before]);
    const left = model.closed(1);
    client.abort();
    await left;
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const whole = await settledOn(one, id);
    expect([whole.status, textsOf(whole)]).toEqual(['completed', ['Hello', ' there']]);
  });

  it('[S-18] is let go at once by one that waits for a place', async () => {
    const one = await join();
    const two = await join({
      limits: { ...HOUR_LONG_LIMITS, turns: { ...HOUR_LONG_LIMITS.turns, concurrentTurns: 1, queuedTurns: 5 } },
    });
    const id = await stalledAt(one, 'Hello', STALLED('busy'));
    await ask(two.url, { stream: true });
    const run = queue.hand(1, keyOf(id));
    await pause(50);
    run.release();
    expect(await run.outcome).toBe('released');
  });

  it('[S-18] is let go at once by one that prepares it, and no try is lost', async () => {
    const one = await join();
    let isAsked = () => {};
    const tools: ToolProvider = {
      name: 'slow',
      list: () => {
        isAsked();
        return new Promise<never>(() => {});
      },
      call: async () => ({ content: '' }),
    };
    await join({ tools, limits: HOUR_LONG_LIMITS });
    const id = await stalledAt(one, 'Hello', { body: textStream(' there') });
    for (let times = 0; times < 4; times += 1) {
      const asked = new Promise<void>((resolve) => {
        isAsked = resolve;
      });
      const run = queue.hand(1, keyOf(id));
      await asked;
      run.release();
      expect(await run.outcome).toBe('released');
    }
    await join();
    expect(await queue.hand(2, keyOf(id)).outcome).toBe('ended');
    expect(textsOf(await settledOn(one, id))).toEqual(['Hello', ' there']);
  });
});

describe('a response whose log cannot be read', () => {
  it('[S-18] fails, and lets nobody wait', async () => {
    const one = await join();
    await join();
    const id = await stalledAt(one, 'Hello');
    const [head] = (await store?.events?.heads([keyOf(id)])) ?? [];
    const garbage = { epoch: 1, from: head?.next ?? 0, events: ['no event'], state: '{"tries":1}' };
    expect(await store?.events?.append(keyOf(id), garbage)).toBe(true);
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const { body } = await send(`${one.url}/responses/${id}`);
    const follower = await fetch(`${one.url}/responses/${id}?stream=true`);
    expect([body.status, (body.error as JsonObject).message]).toEqual([
      'failed',
      expect.stringMatching(/cannot be read/),
    ]);
    expect(await follower.text()).toContain('The events of this response cannot be read.');
  });
});

describe('a response whose log cannot be read where it is cancelled', () => {
  it('[S-18] is cancelled all the same', async () => {
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    const id = await begun(one);
    await store?.events?.append(keyOf(id), { epoch: 1, from: 0, events: ['no event'], state: '{"tries":1}' });
    const { status, body } = await send(`${one.url}/responses/${id}/cancel`, 'POST');
    expect([status, body.status, body.output]).toEqual([200, 'cancelled', []]);
  });
});

describe('a response that is deleted while another process shows it', () => {
  it('[G-13] is reported as deleted to who follows it, and not as one whose events have expired', async () => {
    queue = new HandQueue({ runsAtOnce: false });
    const [one, two] = [await join(), await join()];
    model.reply(STALLED('Hello'));
    const id = await begun(one);
    const run = queue.hand(0, keyOf(id));
    const stream = fetch(`${two.url}/responses/${id}?stream=true`).then((response) => response.text());
    await logged(one, id, 'response.output_text.delta');
    await send(`${one.url}/responses/${id}`, 'DELETE');
    await run.outcome;
    expect(await stream).toContain('"code":"response_not_found"');
    expect(await stream).not.toContain('events_expired');
  });
});

describe('a response whose log was evicted while it runs', () => {
  it('[S-18] stops, and is stored as failed', async () => {
    queue = new HandQueue({ runsAtOnce: false });
    const one = await join();
    model.reply(STALLED('Hello'));
    const id = await begun(one);
    const run = queue.hand(0, keyOf(id));
    await logged(one, id, 'response.output_text.delta');
    await store?.events?.delete(keyOf(id));
    expect(await run.outcome).toBe('ended');
    const { body } = await send(`${one.url}/responses/${id}`);
    const again = await send(`${one.url}/responses/${id}?stream=true`);
    expect([body.status, (body.error as JsonObject).message, errorIn(again.body).code]).toEqual([
      'failed',
      'The response was stopped, because its events were lost.',
      'events_expired',
    ]);
  });
});

describe('a response whose log alone was claimed while others follow it', () => {
  it('[S-18] is stored as failed, and its followers are told', async () => {
    queue = new HandQueue({ runsAtOnce: false });
    const [one, two] = [await join(), await join()];
    model.reply(STALLED('Hello'));
    const id = await begun(one);
    const run = queue.hand(0, keyOf(id));
    const follower = fetch(`${two.url}/responses/${id}?stream=true`).then((response) => response.text());
    await logged(one, id, 'response.output_text.delta');
    await store?.events?.claim(keyOf(id), 9);
    expect(await run.outcome).toBe('ended');
    const text = await follower;
    expect(text).toContain('The response was stopped, because its events were lost.');
    expect(text).toContain('event: response.failed');
    expect((await send(`${one.url}/responses/${id}`)).body.status).toBe('failed');
  });
});

describe('a response whose log this process has no key for', () => {
  it('[S-18] fails, and lets nobody wait', async () => {
    const plain = store;
    const keyed = (id: string, byte: number) =>
      plain && encryptedStore(plain, { keys: [{ id, key: new Uint8Array(32).fill(byte) }] });
    const [first, second] = [keyed('first', 1), keyed('second', 2)];
    // The responses are not encrypted: of them, only the log cannot be read.
    const one = await join({ store: { ...plain, events: first?.events } as RouterOptions['store'] });
    const two = await join({ store: { ...plain, events: second?.events } as RouterOptions['store'] });
    const id = await stalledAt(one, 'Hello');
    const follower = await fetch(`${two.url}/responses/${id}?stream=true`);
    expect(await follower.text()).toContain('The events of this response cannot be read.');
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    const { body } = await send(`${one.url}/responses/${id}`);
    expect([body.status, (body.error as JsonObject).message]).toEqual([
      'failed',
      expect.stringMatching(/cannot be read/),
    ]);
  });
});

describe('a response on another process', () => {
  it('[S-18] is cancelled there within a second', async () => {
    const one = await join();
    const two = await join();
    const id = await stalledAt(one, 'Hello');
    const left = model.closed(0);
    const { body } = await send(`${two.url}/responses/${id}/cancel`, 'POST');
    expect(body.status).toBe('cancelled');
    await left;
    const stream = await followed(two, id);
    expect([stream.done, stream.events.at(-1)?.type]).toEqual([true, 'response.output_text.delta']);
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
  });

  it('[S-18] is deleted there, and stays deleted', async () => {
    const one = await join();
    const two = await join();
    const id = await stalledAt(one, 'Hello');
    const left = model.closed(0);
    expect((await send(`${two.url}/responses/${id}`, 'DELETE')).body.deleted).toBe(true);
    await left;
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
    expect((await send(`${one.url}/responses/${id}`)).status).toBe(404);
    expect(await store?.events?.heads([keyOf(id)])).toEqual([undefined]);
  });

  it.each([
    ['cancelled', 'POST', '/cancel'],
    ['deleted', 'DELETE', ''],
  ])('[S-18] is %s by the second request if the first could not reach its log', async (_, method, path) => {
    // Longer than the test: the time limit must not be what ends it.
    const one = await join({ limits: { turns: { durationMs: 600_000 } } });
    const two = await join({ store: failingOnce(store) });
    const id = await stalledAt(one, 'Hello');
    const left = model.closed(0);
    const ask = () => send(`${two.url}/responses/${id}${path}`, method);
    const answers = [await ask(), await ask()];
    expect(answers.map(({ status }) => status)).toEqual([500, 200]);
    await left;
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('ended');
  });

  it('[S-18] names the store where its log fails as it is taken over, and is offered again', async () => {
    const one = await join();
    if (!store?.events) throw new Error('No log.');
    const cause = new Error('The connection was lost.');
    const claim = () => Promise.reject(cause);
    const reported: unknown[] = [];
    await join({
      store: { ...store, events: { ...store.events, claim } },
      hooks: { onError: (error) => reported.push(error) },
    });
    model.reply({ body: textStream('Hello'), stallAfterBytes: 1e6 });
    const id = await begun(one);
    expect(await queue.hand(1, keyOf(id)).outcome).toBe('released');
    expect(reported).toMatchObject([{ code: 'store_error', cause }]);
  });

  it('[S-18] says of events that they are no longer kept', async () => {
    const one = await join({ limits: { turns: { eventsTtlMs: 1 } } });
    model.reply({ body: textStream('Hello') });
    const id = await begun(one);
    let status: unknown;
    while (status !== 'completed') status = (await send(`${one.url}/responses/${id}`)).body.status;
    await pause(20);
    const { status: code, body } = await send(`${one.url}/responses/${id}?stream=true`);
    expect([code, (body.error as JsonObject).code]).toEqual([400, 'events_expired']);
  });
});

/** Resolves when the log has events from this number on. */
async function followedUntil(app: App, id: string, next: number): Promise<void> {
  const response = await fetch(`${app.url}/responses/${id}?stream=true&starting_after=${next - 1}`);
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  for (let text = ''; !text.includes('output_text.delta'); ) text += decoder.decode((await reader?.read())?.value);
  await reader?.cancel();
}

async function waitForSubmission(): Promise<readonly [{ readonly id: string }]> {
  while (queue.submitted.length === 0) await pause(5);
  return queue.submitted as never;
}
