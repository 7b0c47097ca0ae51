/** What every host must do: one suite over real HTTP, run on each. */

import { once } from 'node:events';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { jest } from '@jest/globals';
import {
  type ApiError,
  type CoreOptions,
  chatCompletionsUpstream,
  functionTool,
  functionTools,
  memoryStore,
  type Upstream,
} from 'express-open-responses/core';
import {
  chatChunk,
  chatCompletion,
  type FakeReply,
  type FakeUpstream,
  startFakeUpstream,
  textStream,
  toolCallStream,
} from 'express-open-responses/testing';
import type { JsonObject } from '../../src/protocol/record.ts';
import { ask as askChat } from '../apis/chat-completions/chat-app.ts';
import {
  answerTextIn,
  ask,
  askJson,
  askStream,
  errorIn,
  lastResponse,
  outcomeOf,
  parsed,
  parseStream,
  send,
  typesOf,
} from '../http/client.ts';
import { HOUR_LONG_DRAIN, HOUR_LONG_LIMITS } from '../support/patience.ts';
import { endlessModel, takenInAll, unreadClient, until } from '../support/unread-client.ts';
import { type Host, type HostSetup, type RunningHost, startHost, TENANT } from './host.ts';

const SPOKEN: FakeReply = { body: chatChunk({ content: 'word' }), stallAfterBytes: 10_000 };
const ENDLESS: FakeReply = { body: chatChunk({ content: 'word ' }), endless: true, paceMs: 5 };
const MISSING = `resp_${'0'.repeat(32)}`;
const JSON_TYPE = 'application/json; charset=utf-8';
const DRAINING = {
  message: 'This server is shutting down; try again.',
  type: 'server_error',
  param: null,
  code: 'server_draining',
};

/** A request to the model server, as far as the suite looks into it. */
type ChatBody = { readonly messages?: readonly JsonObject[] };

/** Declares the suite for one host. */
export function hostSuite(host: Host): void {
  let fake: FakeUpstream;
  let app: RunningHost;
  let url: string;
  let reported: ApiError[];

  beforeEach(async () => {
    printed = [];
    prints.mockClear();
    fake = await startFakeUpstream();
    await start();
  });

  const prints = jest.spyOn(console, 'error').mockImplementation(() => {});
  let printed: readonly unknown[];

  afterEach(async () => {
    await Promise.all([app.close(), fake.close()]);
    // A client that leaves is nothing to print.
    expect(prints.mock.calls.map(([error]) => String(error).trim())).toEqual(printed);
  });

  /** Starts the host anew over the fake model server. */
  async function start(options: CoreOptions = {}, setup: Omit<HostSetup, 'options'> = {}): Promise<void> {
    await app?.close();
    reported = [];
    const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'upstream-key' });
    const hooks = { onError: (error: ApiError) => void reported.push(error) };
    app = await startHost(host, { options: { upstream, store: memoryStore(), hooks, ...options }, ...setup });
    url = app.url;
  }

  /** Asks and resolves once the model server has the request; the answer is on its way. */
  async function running(body: JsonObject, signal?: AbortSignal): Promise<{ readonly response: Promise<Response> }> {
    const arrived = fake.nextRequest();
    const response = ask(url, body, signal ? { signal } : {});
    response.catch(() => {});
    await arrived;
    return { response };
  }

  describe(`${host.name}: the Responses API`, () => {
    it(`[X-03][S-01] ${host.name} answers JSON and keeps what it answered`, async () => {
      const response = await ask(url);
      const type = response.headers.get('content-type');
      const completed = { status: 200, ending: 'completed', error: null, text: 'Hello!', stored: true };
      expect([type, await outcomeOf(url, response)]).toEqual([JSON_TYPE, completed]);
    });

    it(`[X-03][S-01] ${host.name} answers a stream that keeps every law, with headers that no proxy holds back`, async () => {
      fake.reply({ body: textStream(['Hel', 'lo', '!']), split: 'byte' });
      const response = await ask(url, { stream: true });
      const names = ['content-type', 'cache-control', 'x-accel-buffering', 'content-length', 'content-encoding'];
      expect([names.map((name) => response.headers.get(name)), await outcomeOf(url, response)]).toEqual([
        ['text/event-stream', 'no-cache, no-transform', 'no', null, null],
        { status: 200, ending: 'completed', error: null, text: 'Hello!', stored: true },
      ]);
    });

    it(`[X-03] ${host.name} sends each event when it happens`, async () => {
      fake.reply(SPOKEN);
      const client = new AbortController();
      const { body } = await ask(url, { stream: true }, { signal: client.signal });
      let text = '';
      const reader = body?.getReader();
      while (!text.includes('"delta":"word"')) text += Buffer.from((await reader?.read())?.value ?? []).toString();
      client.abort();
      expect(typesOf(parseStream(text).events).at(-1)).toBe('output_text.delta');
    });

    it(`[X-03][S-13] ${host.name} retrieves, lists, continues and deletes`, async () => {
      const { id } = await askJson(url, { input: 'First.' });
      const next = await askJson(url, { input: 'Second.', previous_response_id: id });
      const path = `${url}/responses/${id}`;
      const retrieved = await send(path);
      const items = await send(`${path}/input_items?order=asc&limit=1`);
      const badLimit = await send(`${path}/input_items?limit=0`);
      const deleted = await send(path, 'DELETE');
      const again = await send(path, 'DELETE');
      expect([retrieved.body.id, next.previous_response_id, (items.body.data as JsonObject[]).map(contentOf)]).toEqual([
        id,
        id,
        [[{ type: 'input_text', text: 'First.' }]],
      ]);
      expect([badLimit.status, errorIn(badLimit.body).param]).toEqual([400, 'limit']);
      expect([deleted.body, again.status]).toEqual([{ id, object: 'response', deleted: true }, 404]);
    });

    it(`[X-03] ${host.name} lists the models, also with a slash at the end, and answers HEAD as GET`, async () => {
      const { body } = await send(`${url}/models/`);
      const head = await fetch(`${url}/models`, { method: 'HEAD' });
      expect([body.object, (body.data as JsonObject[]).map(({ id }) => id)]).toEqual(['list', ['fake-model']]);
      expect([head.status, await head.text()]).toEqual([200, '']);
    });

    it(`[X-03] ${host.name} answers a path that the API does not have as the host wants`, async () => {
      const response = await fetch(`${url}/unknown`);
      expect({ status: response.status, text: await response.text() }).toEqual(host.unknownPath);
    });
  });

  describe(`${host.name}: errors`, () => {
    const limits = { request: { bodyBytes: 1000 } };
    const long = JSON.stringify({ model: 'm', input: 'x'.repeat(5000) });

    it.each<[string, string | Uint8Array<ArrayBuffer>, Readonly<Record<string, string>>, number, string]>([
      ['that is cut', '{"model":', {}, 400, 'invalid_json'],
      ['that is no object', '[]', {}, 400, 'invalid_json'],
      ['that is empty', '', {}, 400, 'missing_required_parameter'],
      ['of a wrong field', '{"model":7,"input":"Hi"}', {}, 400, 'invalid_type'],
      ['of another type', 'a=b', { 'content-type': 'text/plain' }, 415, 'unsupported_media_type'],
      [
        'in a charset nobody knows',
        '{}',
        { 'content-type': 'application/json; charset=klingon' },
        415,
        'unsupported_media_type',
      ],
      ['in an encoding nobody knows', '{}', { 'content-encoding': 'rot13' }, 415, 'unsupported_media_type'],
      ['declared to be gzip', '{}', { 'content-encoding': 'gzip' }, 400, 'invalid_json'],
      ['that is too large', long, {}, 413, 'request_too_large'],
      [
        'that is too large once it is inflated',
        gzipSync(long),
        { 'content-encoding': 'gzip' },
        413,
        'request_too_large',
      ],
    ])(`[X-03][P-11][B-43] ${host.name} refuses in the envelope a body %s`, async (_, body, headers, status, code) => {
      await start({ limits });
      const sent = { 'content-type': 'application/json', 'x-request-id': 'mine', ...headers };
      const response = await fetch(`${url}/responses`, { method: 'POST', headers: sent, body });
      const seen = [response.status, response.headers.get('content-type'), response.headers.get('x-request-id')];
      const error = errorIn(parsed(await response.text()));
      expect([...seen, error.code, reported.map((each) => each.code)]).toEqual([
        status,
        JSON_TYPE,
        'mine',
        code,
        [code],
      ]);
      expect([fake.requests.length, (await ask(url)).status]).toEqual([0, 200]);
    });

    it(`[X-03][P-11] ${host.name} refuses a body that turns out too large while it comes`, async () => {
      await start({ limits });
      const answer = await overSocket(url, chunked(Array.from({ length: 20 }, () => 'x'.repeat(1000))));
      expect([answer.slice(0, 12), answer.includes('"code":"request_too_large"')]).toEqual(['HTTP/1.1 413', true]);
    });

    it(`[X-03][P-11] ${host.name} takes a body in pieces that cut a character, and one that is gzip`, async () => {
      const body = Buffer.from('{"model":"m","input":"Grüße"}');
      const half = body.indexOf('ü') + 1;
      const pieces = [body.subarray(0, half), body.subarray(half)].map((piece) => piece.toString('latin1'));
      const answer = await overSocket(url, chunked(pieces));
      const headers = { 'content-type': 'application/json', 'content-encoding': 'gzip' };
      const zipped = await fetch(`${url}/responses`, { method: 'POST', headers, body: gzipSync(body) });
      const requested = fake.requests.map((request) => (request.body as ChatBody).messages?.[0]?.content);
      expect([answer.slice(0, 12), zipped.status, requested]).toEqual(['HTTP/1.1 200', 200, ['Grüße', 'Grüße']]);
    });

    it.each([
      ['an id that nobody has', MISSING, 404, 'response_not_found'],
      ['an id that is none', 'x', 404, 'response_not_found'],
      ['a path that cannot be decoded', '%E0%A4%A', 400, 'invalid_value'],
    ])(`[X-03][S-13] ${host.name} refuses in the envelope %s`, async (_, id, status, code) => {
      const { status: seen, body } = await send(`${url}/responses/${id}`);
      expect([seen, errorIn(body).code]).toEqual([status, code]);
    });

    it(`[X-03] ${host.name} passes on what the model server refuses, with its status`, async () => {
      const error = { message: 'Slow down.', type: 'requests', code: null };
      const headers = { 'retry-after': '7', 'x-should-retry': 'false' };
      fake.reply({ status: 429, headers, body: JSON.stringify({ error }) });
      const response = await ask(url, { stream: true });
      const { message } = errorIn(parsed(await response.text()));
      expect([response.status, response.headers.get('retry-after'), message]).toEqual([429, '7', 'Slow down.']);
    });

    it(`[X-03] ${host.name} ends a stream that fails in the middle with the error`, async () => {
      fake.reply({ body: chatChunk({ content: 'word' }), cutAfterBytes: 10_000 });
      const { events, done } = await askStream(url);
      expect([typesOf(events).slice(-2), done]).toEqual([['error', 'failed'], true]);
    });
  });

  describe(`${host.name}: who asks`, () => {
    it(`[X-03][P-13] ${host.name} keeps apart who sends another Authorization header`, async () => {
      const { id } = await askJson(url, {}, { headers: { authorization: 'Bearer ada' } });
      const seenBy = (key: string) => send(`${url}/responses/${id}`, 'GET', { authorization: `Bearer ${key}` });
      const [ada, bob] = [await seenBy('ada'), await seenBy('bob')];
      expect([ada.status, bob.status, errorIn(bob.body).code]).toEqual([200, 404, 'response_not_found']);
    });

    it(`[X-03][P-13] ${host.name} goes by the host’s own scope where there is one`, async () => {
      await start({}, { byTenant: true });
      const { id } = await askJson(url, {}, { headers: { authorization: 'Bearer ada', [TENANT]: 'a' } });
      const seenBy = async (tenant: string) =>
        (await send(`${url}/responses/${id}`, 'GET', { [TENANT]: tenant })).status;
      expect([await seenBy('a'), await seenBy('b')]).toEqual([200, 404]);
    });

    it(`[X-03][B-43] ${host.name} answers with the client’s request id and gives it to the model server`, async () => {
      const headers = { 'x-request-id': 'trace:1' };
      const answers = [
        await ask(url, {}, { headers }),
        await ask(url, { stream: true }, { headers }),
        await askChat(url, {}, { headers }),
        await fetch(`${url}/responses/${MISSING}`, { headers }),
      ];
      await Promise.all(answers.map((answer) => answer.text()));
      const own = ['trace:1', 'trace:1', 'trace:1'];
      expect([answers.map((answer) => answer.headers.get('x-request-id')), asIds(fake)]).toEqual([
        [...own, 'trace:1'],
        own,
      ]);
    });

    it(`[X-03][B-43] ${host.name} makes up a request id where there is none`, async () => {
      const id = (await ask(url)).headers.get('x-request-id');
      expect([id, asIds(fake)]).toEqual([expect.stringMatching(/^req_[0-9a-f]{32}$/), [id]]);
    });
  });

  describe(`${host.name}: tools and Chat Completions`, () => {
    const whoami = functionTool({
      execute: (_, { request, scope }) => `${host.headerOf(request, TENANT)} of ${scope}`,
    });
    const round = (): FakeReply => ({ body: toolCallStream([{ id: 'call_1', name: 'whoami', arguments: '{}' }]) });
    const ada = { headers: { [TENANT]: 'ada' } };

    it.each([true, false])(
      `[X-03] ${host.name} runs tools that know the host’s request (stream: %s)`,
      async (stream) => {
        await start({ tools: functionTools({ whoami }) }, { byTenant: true });
        fake.reply(round(), { body: textStream('Done.') });
        const response = stream ? lastResponse(await askStream(url, {}, ada)) : await askJson(url, {}, ada);
        const call = (response.output as readonly JsonObject[]).find(({ type }) => type === 'mcp_call');
        expect([call?.output, answerTextIn(response), fake.requests.length]).toEqual(['ada of ada', 'Done.', 2]);
      },
    );

    it(`[X-03] ${host.name} chooses tools by the host’s request`, async () => {
      const providers = [functionTools({ whoami })];
      await start({ tools: (request) => (host.headerOf(request, TENANT) === 'ada' ? providers : []) });
      await askJson(url, {}, ada);
      await askJson(url);
      const offered = fake.requests.map(({ body }) => Boolean((body as JsonObject).tools));
      expect(offered).toEqual([true, false]);
    });

    it(`[X-03][S-19] ${host.name} passes a chat completion byte for byte, JSON and stream`, async () => {
      const bodies = [chatCompletion('Hi.', { unheard_of: 1 }), textStream(['Hi', '.'])];
      fake.reply(...bodies.map((body) => ({ body })));
      const answers = [await askChat(url), await askChat(url, { stream: true })];
      const texts = await Promise.all(answers.map((answer) => answer.text()));
      const types = answers.map((answer) => answer.headers.get('content-type'));
      expect([texts, types]).toEqual([bodies, [JSON_TYPE, 'text/event-stream']]);
    });

    it(`[X-03][S-19] ${host.name} runs tools in a chat completion`, async () => {
      await start({ tools: functionTools({ whoami }) }, { byTenant: true });
      fake.reply(round(), { body: textStream('Done.') });
      const text = await (await askChat(url, { stream: true }, ada)).text();
      const { messages } = (fake.requests[1]?.body ?? {}) as ChatBody;
      expect([text.includes('Done.'), text.includes('whoami'), messages?.at(-1)?.content]).toEqual([
        true,
        false,
        'ada of ada',
      ]);
    });

    it(`[X-03][S-19][P-11] ${host.name} refuses a chat completion in the envelope`, async () => {
      const response = await askChat(url, '{"model":');
      expect([response.status, errorIn(parsed(await response.text())).code]).toEqual([400, 'invalid_json']);
    });
  });

  describe(`${host.name}: clients that leave or do not read`, () => {
    it.each<[string, FakeReply, JsonObject, boolean]>([
      ['in the middle of a stream', ENDLESS, { stream: true }, true],
      ['in the middle of a silent stream', SPOKEN, { stream: true }, true],
      ['before the first token of a stream', { hang: true }, { stream: true }, false],
      ['on a JSON request', { hang: true }, {}, false],
    ])(
      `[X-03][P-10] ${host.name} leaves the model server as soon as a client leaves %s`,
      async (_, reply, body, reads) => {
        await start({ limits: HOUR_LONG_LIMITS });
        fake.reply(reply);
        for (let index = 0; index < 3; index += 1) {
          const client = new AbortController();
          const { response } = await running(body, client.signal);
          if (reads) await (await response).body?.getReader().read();
          client.abort();
          await fake.closed(index);
        }
        await app.drain(HOUR_LONG_DRAIN);
        expect(reported).toEqual([]);
      },
    );

    it(`[X-03][P-10] ${host.name} leaves the model server of a chat completion too`, async () => {
      await start({ limits: HOUR_LONG_LIMITS });
      fake.reply(ENDLESS);
      const client = new AbortController();
      const response = await askChat(url, { stream: true }, { signal: client.signal });
      await response.body?.getReader().read();
      client.abort();
      await fake.closed(0);
      expect(reported).toEqual([]);
    });

    it(`[X-03][P-10] ${host.name} asks nothing where the client leaves before its body is whole`, async () => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      const head = 'POST /v1/responses HTTP/1.1\r\nhost: app\r\ncontent-type: application/json\r\ncontent-length: 99';
      socket.write(`${head}\r\n\r\n{"mo`);
      await once(app.server, 'request');
      socket.destroy();
      const next = await askJson(url);
      expect([next.status, fake.requests.length]).toEqual(['completed', 1]);
    });

    it(`[X-03][P-10] ${host.name} takes no more of the model than a client that reads nothing leaves room for`, async () => {
      const model = endlessModel();
      await start({ upstream: model.upstream, limits: { model: { outputBytes: 2 ** 30 } } });
      const client = unreadClient(url);
      const taken = await takenInAll(model);
      client.resume();
      await until(() => model.taken > taken + 200);
      client.destroy();
      await until(() => !model.isOpen);
      // What the sockets of both sides hold is the kernel's to choose: some megabytes.
      expect(taken * 64).toBeLessThan(16 * 1024);
    });

    /** A model that says what no upstream of TypeScript could: an annotation with these fields. */
    function brokenModel(fields: JsonObject): Upstream {
      async function* stream() {
        yield [{ type: 'text-delta' as const, text: 'Hello' }];
        const annotation = { type: 'url_citation', url: 'u', title: 't', start_index: 0, end_index: 0, ...fields };
        // The cast: an upstream in plain JavaScript.
        yield [{ type: 'annotation' as const, annotation: annotation as never }];
      }
      return { name: 'broken', stream, async *chat() {} };
    }

    it(`[F-07] [X-03] ${host.name} ends a stream with its failure where the model writes what cannot be read`, async () => {
      await start({ upstream: brokenModel({ title: 1n }) });
      const { events, done } = await askStream(url);
      expect([typesOf(events).slice(-2), done]).toEqual([['error', 'failed'], true]);
    });

    it(`[F-07] [X-03] ${host.name} cuts the client off where a stream cannot go on, instead of leaving it open`, async () => {
      printed = host.printsOfBroken;
      await start({ upstream: brokenModel({ more: 1n }) });
      const reading = ask(url, { stream: true }).then((response) => response.text());
      await expect(reading).rejects.toThrow(/terminated|fetch failed/);
    });

    it(`[X-03] ${host.name} fills silence with heartbeats`, async () => {
      await start({ heartbeat: { intervalMs: 50 } });
      const words = [chatChunk({ content: 'Hel' }), chatChunk({ content: 'lo' }, { finish_reason: 'stop' })];
      fake.reply({ body: words, paceMs: 180 });
      const stream = await askStream(url);
      expect([stream.heartbeats >= 2, answerTextIn(lastResponse(stream))]).toEqual([true, 'Hello']);
    });
  });

  describe(`${host.name}: shutting down`, () => {
    it(`[X-03] ${host.name} refuses what is new with 503 and lets what runs end`, async () => {
      fake.reply({ body: textStream('Hi'), firstByteDelayMs: 200 });
      const { response } = await running({ stream: true });
      const draining = app.drain();
      const refused = [await ask(url), await askChat(url)];
      const errors = await Promise.all(refused.map(async (each) => errorIn(parsed(await each.text()))));
      const closing = refused.map(({ status, headers }) => [status, headers.get('connection')]);
      const outcome = await outcomeOf(url, await response);
      await draining;
      expect([closing, errors, outcome.ending]).toEqual([
        [
          [503, 'close'],
          [503, 'close'],
        ],
        [DRAINING, DRAINING],
        'completed',
      ]);
    });

    it(`[X-03] ${host.name} fails at the deadline what still runs`, async () => {
      fake.reply(SPOKEN);
      const response = await ask(url, { stream: true });
      const text = response.text();
      await app.drain({ timeoutMs: 100 });
      const { events, done } = parseStream(await text);
      expect([typesOf(events).slice(-2), done]).toEqual([['error', 'failed'], true]);
    });

    it(`[X-03][P-10] ${host.name} cuts off at last a client that does not read`, async () => {
      printed = host.printsOfCutOff;
      const model = endlessModel();
      await start({ upstream: model.upstream });
      const client = unreadClient(url);
      await takenInAll(model);
      await app.drain({ timeoutMs: 50 });
      let end = '';
      client.on('data', (bytes) => {
        end = (end + bytes.toString('latin1')).slice(-5);
      });
      await once(client.resume(), 'close');
      await until(() => !model.isOpen);
      // An answer that had come to its end would have ended with an empty chunk.
      expect([end.length, end === '0\r\n\r\n']).toEqual([5, false]);
    });
  });
}

function contentOf({ content }: JsonObject): unknown {
  return content;
}

/** The ids of the requests that the model server got. */
function asIds({ requests }: FakeUpstream): readonly unknown[] {
  return requests.map(({ headers }) => headers['x-request-id']);
}

/** A request for a response whose body comes in these pieces of Latin-1, its length unsaid. */
function chunked(pieces: readonly string[]): readonly string[] {
  const head =
    'POST /v1/responses HTTP/1.1\r\nhost: app\r\nconnection: close\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n';
  return [head, ...pieces.map((piece) => `${piece.length.toString(16)}\r\n${piece}\r\n`), '0\r\n\r\n'];
}

/** Sends each text by itself, and collects what comes until the server closes the connection. */
async function overSocket(url: string, texts: readonly string[]): Promise<string> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1').setNoDelay();
  let received = '';
  socket.setEncoding('utf8').on('data', (piece: string) => {
    received += piece;
  });
  const closed = once(socket, 'close');
  for (const text of texts) await new Promise<unknown>((resolve) => socket.write(text, 'latin1', resolve));
  await closed;
  return received;
}
