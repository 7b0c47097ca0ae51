/** All APIs as one function from a request to a reply: routing, headers and the body. */

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import * as main from 'express-open-responses';
import * as core from 'express-open-responses/core';
import { ApiError, type ApiRequest, memoryStore, type OpenResponses, openResponses } from 'express-open-responses/core';

const SILENT: core.Upstream = { name: 'silent', async *stream() {} };

function responsesApi(options: core.OpenResponsesOptions<object> = {}): OpenResponses<object> {
  return openResponses({ upstream: SILENT, store: memoryStore(), ...options });
}

/** A request, with what a test cares about over a `GET /models`. */
function request(given: Partial<ApiRequest<object>> = {}): ApiRequest<object> {
  return { method: 'GET', path: '/models', headers: {}, signal: new AbortController().signal, ...given };
}

/** Status and error code of what is answered; undefined where the API has no such path. */
async function shortOf(answer: Promise<core.Reply> | undefined): Promise<unknown> {
  if (!answer) return undefined;
  const { status, body } = await answer;
  return [status, JSON.parse(String(body)).error?.code];
}

async function* piecesOf(...texts: readonly string[]) {
  for (const text of texts) yield Buffer.from(text);
}

describe('openResponses', () => {
  it.each<[string, string, unknown]>([
    ['GET', '/models', [200, undefined]],
    ['HEAD', '/models/', [200, undefined]],
    ['GET', '/responses/resp_1', [404, 'response_not_found']],
    ['DELETE', '/responses/resp_1/', [404, 'response_not_found']],
    ['GET', '/responses/resp_1/input_items', [404, 'response_not_found']],
    ['GET', '/responses/%', [400, 'invalid_value']],
    ['POST', '/responses', [400, 'invalid_json']],
    ['POST', '/chat/completions', undefined],
    ['GET', '/responses', undefined],
    ['GET', '/responses/', undefined],
    ['POST', '/responses/resp_1', undefined],
    ['GET', '/responses/resp_1/input_items/more', undefined],
    ['GET', '/v1/models', undefined],
    ['GET', '', undefined],
  ])('[X-03] answers %s %s', async (method, path, expected) => {
    expect(await shortOf(responsesApi().handle(request({ method, path })))).toEqual(expected);
  });

  it('[X-03] reads headers as Node has them, without the pseudo-headers of HTTP/2', async () => {
    const headers = {
      ':path': '/models',
      ':method': 'GET',
      'x-request-id': 'mine',
      'set-cookie': ['a', 'b'],
      te: undefined,
    };
    const reply = await responsesApi().handle(request({ headers }));
    expect([reply?.status, reply?.headers['x-request-id']]).toEqual([200, 'mine']);
  });

  it('[X-03][P-13] takes the host’s scope, or goes by the Authorization header in either kind of headers', async () => {
    const seen: string[] = [];
    const store = { ...memoryStore(), get: ({ scope }: core.ResponseKey) => void seen.push(scope) };
    const api = responsesApi({ store });
    const authorization = 'Bearer ada';
    const path = '/responses/resp_1';
    await api.handle(request({ path, headers: { authorization } }));
    await api.handle(request({ path, headers: new Headers({ authorization }) }));
    await api.handle(request({ path }));
    await api.handle(request({ path, headers: { authorization }, scope: 'mine' }));
    const digest = expect.stringMatching(/^[\w-]{43}$/);
    expect([seen, seen[0] === seen[1]]).toEqual([[digest, digest, 'anonymous', 'mine'], true]);
  });

  it('[X-03][P-11] prefers the body that the host has parsed, and still goes by its type', async () => {
    const read = { method: 'POST', path: '/responses', body: { model: 'm' }, bytes: piecesOf('{') };
    const wrong = { ...read, headers: { 'content-type': 'text/plain' } };
    const answers = [request(read), request(wrong)].map((each) => shortOf(responsesApi().handle(each)));
    expect(await Promise.all(answers)).toEqual([
      [400, 'missing_required_parameter'],
      [415, 'unsupported_media_type'],
    ]);
  });

  it.each<[string, string, number, unknown]>([
    ['of exactly the limit', '{"model":"m"}', 13, [400, 'missing_required_parameter']],
    ['of one byte more', '{"model":"m"}', 12, [413, 'request_too_large']],
    ['without a limit', '{"model":"m"}', Number.POSITIVE_INFINITY, [400, 'missing_required_parameter']],
  ])('[X-03][P-11] reads a body %s', async (_, text, bodyBytes, expected) => {
    const bytes = piecesOf(text.slice(0, 5), text.slice(5));
    const requested = request({ method: 'POST', path: '/responses', bytes });
    expect(await shortOf(responsesApi({ limits: { request: { bodyBytes } } }).handle(requested))).toEqual(expected);
  });

  it('[X-03][P-11] reads nothing of a body that is declared to be too large', async () => {
    let reads = 0;
    async function* bytes() {
      reads += 1;
      yield Buffer.from('{}');
    }
    const requested = request({
      method: 'POST',
      path: '/responses',
      headers: { 'content-length': '11' },
      bytes: bytes(),
    });
    expect([await shortOf(responsesApi({ limits: { request: { bodyBytes: 10 } } }).handle(requested)), reads]).toEqual([
      [413, 'request_too_large'],
      0,
    ]);
  });

  it('[X-03][P-11] keeps nothing of a body that has turned out too large', async () => {
    const MIB = 1024 * 1024;
    setFlagsFromString('--expose-gc');
    const collect: () => void = runInNewContext('gc');
    let grown = Number.NaN;
    async function* bytes() {
      collect();
      const before = process.memoryUsage().arrayBuffers;
      for (let piece = 0; piece < 50; piece += 1) yield Buffer.alloc(MIB);
      // V8 frees buffers in the background; what is kept stays however often it is asked.
      for (let round = 0; round < 50 && !(grown < 10); round += 1) {
        collect();
        await new Promise(setImmediate);
        grown = (process.memoryUsage().arrayBuffers - before) / MIB;
      }
    }
    const requested = request({ method: 'POST', path: '/responses', bytes: bytes() });
    const refused = await shortOf(responsesApi({ limits: { request: { bodyBytes: MIB } } }).handle(requested));
    expect([refused, grown < 10]).toEqual([[413, 'request_too_large'], true]);
  });

  it('[X-03][P-10] reports that a body which breaks off was aborted, or nothing where the client is known to have left', async () => {
    const left = new AbortController();
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from('{');
      throw new Error('ECONNRESET');
    }
    const requested = () => request({ method: 'POST', path: '/responses', bytes: bytes(), signal: left.signal });
    const aborted = await shortOf(responsesApi().handle(requested()));
    left.abort();
    await expect(responsesApi().handle(requested())).rejects.toThrow('The request was aborted.');
    expect(aborted).toEqual([499, 'request_aborted']);
  });

  it('[X-03][B-43] refuses what the host refuses, in the envelope and reported to the hook', async () => {
    const reported: unknown[] = [];
    const api = responsesApi({ hooks: { onError: (error) => void reported.push(error) } });
    const error = new ApiError('invalid_api_key', 'Who are you?', { status: 401, type: 'invalid_request_error' });
    const { status, headers, body } = await api.refuse(error, request({ headers: { 'x-request-id': 'mine' } }));
    expect([status, headers['x-request-id'], JSON.parse(String(body)), reported]).toEqual([
      401,
      'mine',
      { error: { message: 'Who are you?', type: 'invalid_request_error', param: null, code: 'invalid_api_key' } },
      [error],
    ]);
  });
});

describe('openResponses over an upstream of Chat Completions', () => {
  it('[X-03][S-19] answers their path too, and none without one', async () => {
    const upstream: core.Upstream = { ...SILENT, async *chat() {} };
    const post = (api: OpenResponses<object>, path: string) =>
      shortOf(api.handle(request({ method: 'POST', path, body: [] })));
    const paths = ['/chat/completions', '/responses', '/messages', '/files'];
    const answers = await Promise.all(paths.map((path) => post(responsesApi({ upstream }), path)));
    const invalid = [400, 'invalid_json'];
    expect([answers, await post(responsesApi(), '/chat/completions')]).toEqual([
      [invalid, invalid, [400, undefined], undefined],
      undefined,
    ]);
  });

  it.each([core.openResponses, main.openResponses])('[X-03] refuses an unknown option', (open) => {
    expect(() => open({ scopes: () => '' } as object)).toThrow("openResponses: unknown option 'scopes'");
  });
});

describe('express-open-responses/core', () => {
  it('[X-03] has what the main entry has, where both have it, and its own openResponses', () => {
    const known = new Map<string, unknown>(Object.entries(main));
    const shared = Object.entries(core).filter(([name, value]) => known.get(name) === value);
    const names = Object.keys(core).filter((name) => !shared.some(([both]) => both === name));
    expect([names, shared.length]).toEqual([['openResponses'], 6]);
  });
});
