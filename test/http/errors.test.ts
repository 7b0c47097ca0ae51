/** What a client receives of an error: OpenAI's envelope with the right status, or the two last events of a stream. */

import type { ApiError } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { chatChunk, type FakeReply, type FakeUpstream, startFakeUpstream } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { ask, askJson, askStream, lastResponse, parsed } from './client.ts';

let fake: FakeUpstream;
let app: App;
let reported: ApiError[];

beforeEach(async () => {
  reported = [];
  fake = await startFakeUpstream();
  app = await startApp({ upstream: fake, options: { hooks: { onError: (error) => void reported.push(error) } } });
});

afterEach(() => Promise.all([app.close(), fake.close()]));

/** Never retried, so that each case takes one attempt. */
function refusal(status: number, body: unknown): FakeReply {
  return {
    status,
    headers: { 'x-should-retry': 'false' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  };
}

const HTML = '<!doctype html><html><body><h1>502 Bad Gateway</h1>nginx</body></html>';

describe('an error of the model server before its first byte', () => {
  it.each<[string, FakeReply, number, JsonObject]>([
    [
      'its own code, type, message and param',
      refusal(400, {
        error: {
          message: 'Too long.',
          type: 'invalid_request_error',
          param: 'messages',
          code: 'context_length_exceeded',
        },
      }),
      400,
      { message: 'Too long.', type: 'invalid_request_error', param: 'messages', code: 'context_length_exceeded' },
    ],
    [
      'null fields',
      refusal(400, { error: { message: 'Filtered.', type: null, param: null, code: 'content_filter' } }),
      400,
      { message: 'Filtered.', type: 'invalid_request_error', param: null, code: 'content_filter' },
    ],
    [
      'a code that is a number (vLLM)',
      refusal(404, { object: 'error', message: 'The model `x` does not exist.', type: 'NotFoundError', code: 404 }),
      404,
      { message: 'The model `x` does not exist.', type: 'invalid_request_error', param: null, code: 'model_not_found' },
    ],
    [
      'a bare string (Ollama)',
      refusal(500, { error: 'model runner has unexpectedly stopped' }),
      500,
      { message: 'model runner has unexpectedly stopped', type: 'server_error', param: null, code: 'upstream_error' },
    ],
    [
      'a detail (FastAPI)',
      refusal(401, { detail: 'Not authenticated' }),
      401,
      { message: 'Not authenticated', type: 'invalid_request_error', param: null, code: 'invalid_api_key' },
    ],
    [
      'too many requests',
      refusal(429, { error: { message: 'Slow down.', type: 'requests', code: null } }),
      429,
      { message: 'Slow down.', type: 'rate_limit_error', param: null, code: 'rate_limit_exceeded' },
    ],
    [
      'an HTML page',
      refusal(502, HTML),
      502,
      {
        message: 'The model server answered with status 502.',
        type: 'server_error',
        param: null,
        code: 'upstream_error',
      },
    ],
    [
      'HTML inside JSON',
      refusal(500, { error: { message: HTML } }),
      500,
      {
        message: 'The model server answered with status 500.',
        type: 'server_error',
        param: null,
        code: 'upstream_error',
      },
    ],
    [
      'nothing',
      refusal(503, ''),
      503,
      {
        message: 'The model server answered with status 503.',
        type: 'server_error',
        param: null,
        code: 'upstream_unavailable',
      },
    ],
    [
      'a redirect, which is not followed',
      { status: 302, headers: { location: 'http://169.254.169.254/' }, body: '' },
      502,
      {
        message: 'The model server redirected the request, which is not followed.',
        type: 'server_error',
        param: null,
        code: 'upstream_error',
      },
    ],
    [
      'the server’s key, which is kept back',
      refusal(401, {
        error: { message: 'Incorrect API key provided: upstream-key or sk-abc123def here.', type: 'auth_error' },
      }),
      401,
      {
        message: 'Incorrect API key provided: *** or *** here.',
        type: 'auth_error',
        param: null,
        code: 'invalid_api_key',
      },
    ],
  ])('[P-09][A-19][B-06][D-19] keeps its status, in the envelope: %s', async (_, reply, status, error) => {
    fake.reply(reply);
    const responses = [await ask(app.url), await ask(app.url, { stream: true })];
    const seen = await Promise.all(
      responses.map(async (response) => [
        response.status,
        response.headers.get('content-type'),
        parsed(await response.text()),
      ]),
    );
    const one = [status, 'application/json; charset=utf-8', { error }];
    expect(seen).toEqual([one, one]);
    expect(reported.map(({ body }) => body)).toEqual([error, error]);
  });

  it('[P-09] keeps the address of the model server back', async () => {
    const { host } = new URL(fake.baseURL);
    fake.reply(
      refusal(500, { error: { message: `connect to http://${host}/v1, http://${host}/ and ${host} failed` } }),
    );
    const { error } = await askJson(app.url);
    expect((error as JsonObject).message).toBe('connect to ***, ***/ and *** failed');
  });

  it('[P-09] keeps the Retry-After of the model server', async () => {
    fake.reply({ status: 429, headers: { 'retry-after': '17', 'set-cookie': 'a=b' }, body: '{}' });
    const { headers } = await ask(app.url);
    expect([headers.get('retry-after'), headers.get('set-cookie')]).toEqual(['17', null]);
  });
});

describe('an error after the first byte', () => {
  it('[P-09][B-05][D-20][C-20] is one error event, flat and nested, then response.failed, then [DONE]', async () => {
    fake.reply({
      body: `${chatChunk({ content: 'Hel' })}data: {"error":{"message":"Engine died.","type":"server_error","code":"died"}}\n\n`,
    });
    const stream = await askStream(app.url);
    const [error, failed] = stream.events.slice(-2);
    const response = lastResponse(stream);
    const seen = { error, failed: { ...failed, response: undefined }, status: response.status, done: stream.done };
    expect(seen).toEqual({
      error: {
        type: 'error',
        sequence_number: 8,
        code: 'died',
        message: 'Engine died.',
        param: null,
        error: { type: 'server_error', code: 'died', message: 'Engine died.', param: null },
      },
      failed: { type: 'response.failed', sequence_number: 9, response: undefined },
      status: 'failed',
      done: true,
    });
    expect([response.error, response.completed_at, reported.map(({ code }) => code)]).toEqual([
      { code: 'server_error', message: 'Engine died.', type: 'server_error', param: null, reason: 'died' },
      null,
      ['died'],
    ]);
  });

  it('[B-05] is a failed response with the output so far, for a client that asked for JSON', async () => {
    fake.reply({ body: chatChunk({ content: 'Hel' }) });
    const response = await ask(app.url);
    const { status, error, output } = parsed(await response.text());
    expect([response.status, status, error, output]).toEqual([
      200,
      'failed',
      expect.objectContaining({ code: 'server_error', reason: 'upstream_truncated' }),
      [
        {
          id: expect.stringMatching(/^msg_[0-9a-f]{36}$/),
          type: 'message',
          status: 'incomplete',
          role: 'assistant',
          content: [{ type: 'output_text', text: 'Hel', annotations: [], logprobs: [] }],
        },
      ],
    ]);
  });

  it('[B-32] of a request is reported to the host with the request’s id and its tenant, and with nothing that the request holds', async () => {
    const infos: unknown[] = [];
    const hooks = { onError: (_: ApiError, info: object) => void infos.push(Object.keys(info)) };
    const hooked = await startApp({ upstream: fake, options: { hooks } });
    await ask(hooked.url, { temperature: 'secret' });
    await hooked.close();
    expect(infos).toEqual([['requestId', 'scope']]);
  });

  it('[P-09] of our own hooks is a warning, and the answer goes on', async () => {
    const failing = () => {
      throw new Error('a bug of the host');
    };
    const hooks = { onRequest: failing, onResponse: failing, onError: failing, onNote: failing };
    const hooked = await startApp({ upstream: fake, options: { hooks } });
    fake.reply({ body: chatChunk({ content: 'Hel' }) });
    const { status } = await askJson(hooked.url, { tools: [{ type: 'web_search' }] });
    await hooked.close();
    expect(status).toBe('failed');
  });
});
