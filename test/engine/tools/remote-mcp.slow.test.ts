/** Requests that bring real MCP servers over TLS: what is refused, what fails, and what a hostile server can do. */

import type { ServerResponse } from 'node:http';
import OpenAI from 'openai';
import type { RouterOptions } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { NOBODY } from '../../support/listening.ts';
import { closeAll } from '../../support/mcp-client.ts';
import { post } from '../../support/responses-client.ts';
import type { WireResponse } from '../../support/wire-schemas.ts';
import { watchConnections } from '../../tools/egress/site.ts';
import {
  describeRemote,
  drip,
  egressTo,
  HOST,
  remoteFor,
  resolving,
  startFlooding,
  startRemote,
  startScripted,
  startTlsSite,
} from '../../tools/mcp/remote-support.ts';
import { answerTo, findingTogether, QUESTION, requestIn } from './approvals-support.ts';
import {
  type BroughtServer,
  brought,
  echoesOf,
  type RemoteApp,
  SECRET,
  startRemoteApp,
  wireTool,
} from './remote-app.ts';
import { calls, says, shape, streamOf } from './support.ts';

afterEach(closeAll);

const CALL = { text: 'Rome' };

/** Asks for JSON and for a stream: of each the status and the error, the same of both. */
async function errorOf(app: RemoteApp, body: JsonObject): Promise<JsonObject> {
  const answers = [await post(app.url, body), await post(app.url, { ...body, stream: true })];
  const [json, streamed] = answers.map(({ status, text }) => ({ status, ...JSON.parse(text).error }));
  expect(streamed).toEqual(json);
  return json;
}

describeRemote('a request that brings a server', () => {
  const port = { port: 443 };
  it.each<[string, Partial<BroughtServer>]>([
    ['plain HTTP', { url: `http://${HOST}/mcp` }],
    ['another port', { url: `https://${HOST}:22/mcp` }],
    ['a user', { url: `https://me:${SECRET}@${HOST}/mcp` }],
    ['no URL', { url: SECRET }],
  ])('[T-09, B-19, B-40] at %s is refused with a 400, and nobody is asked', async (_, parts) => {
    const app = await startRemoteApp(remoteFor([], resolving(['169.254.169.254'])));
    const watch = watchConnections();
    const error = await errorOf(app, { tools: [wireTool(brought(port, parts))] });
    watch.stop();
    expect(error).toMatchObject({ status: 400, code: 'invalid_value', param: 'tools[0].server_url' });
    expect([app.fake.requests, watch.attempts.filter((address) => !address.startsWith('127.'))]).toEqual([[], []]);
    expect(app.everything()).not.toContain('hunter2');
  });

  it.each<[string, Partial<BroughtServer>]>([
    ['a metadata service', { url: 'https://169.254.169.254/latest/meta-data/' }],
    ['a name that leads to a metadata service', { url: `https://${HOST}/mcp` }],
    ['a name that is not allowed', { url: `https://other.example/${SECRET}` }],
    ['this machine', { url: 'https://localhost/mcp' }],
    ['this machine, by number', { url: 'https://2130706433/mcp' }],
  ])('[T-09, B-19, B-40, F-20] at %s is refused as one that is gone, and nobody is asked', async (_, parts) => {
    const app = await startRemoteApp(remoteFor([], resolving(['169.254.169.254'])));
    const watch = watchConnections();
    const error = await errorOf(app, { tools: [wireTool(brought(port, parts))] });
    watch.stop();
    expect(error).toMatchObject({ status: 422, code: 'mcp_server_unavailable', param: 'tools[0].server_url' });
    expect([app.fake.requests, watch.attempts.filter((address) => !address.startsWith('127.'))]).toEqual([[], []]);
    expect(app.everything()).not.toContain('hunter2');
  });

  it('[T-09, B-15] that is gone is refused with a 422', async () => {
    const app = await startRemoteApp(remoteFor([NOBODY]));
    const error = await errorOf(app, { tools: [wireTool(brought(NOBODY))] });
    expect(error).toMatchObject({ status: 422, code: 'mcp_server_unavailable', param: 'tools[0].server_url' });
    expect([app.fake.requests, app.everything().includes('hunter2')]).toEqual([[], false]);
  });

  it('[T-09, B-15, B-32] [F-28] with the wrong secrets is a 424 for openai-node, which reveals none of them', async () => {
    const server = await startRemote();
    const body = `No ${SECRET}. No Bearer ${SECRET}.${'x'.repeat(9_000)}`;
    server.refuseWith = { status: 401, body };
    const app = await startRemoteApp(remoteFor([server]));
    const client = new OpenAI({ baseURL: app.url, apiKey: 'client-key', maxRetries: 0 });
    const requested = { model: 'fake-model', input: 'Go.', tools: [wireTool(brought(server))] };
    const errors = [
      await client.responses.create(requested).catch((error) => error),
      await client.responses.create({ ...requested, stream: true }).catch((error) => error),
    ];
    const expected = { status: 424, code: 'http_error', type: 'external_connector_error', param: 'tools[0]' };
    expect(errors).toEqual([expect.objectContaining(expected), expect.objectContaining(expected)]);
    expect(errors[0].message).toContain("The MCP server 'docs' answered with HTTP 401 (Unauthorized).");
    expect([app.fake.requests, app.everything().includes('hunter2')]).toEqual([[], false]);
  });
});

describeRemote('a call of a server that a request brings', () => {
  it.each([
    ['fails', 'fail', { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'It went wrong.' }] }],
    ['is refused', 'refuse', { type: 'mcp_protocol_error', code: -32602, message: 'refused: undefined' }],
    ['breaks the connection', 'crash', { type: 'mcp_protocol_error', code: -32000 }],
    ['never was', 'unheard_of', undefined],
  ])('[T-09] [F-22] that %s is an item, and the response goes on', async (_, tool, error) => {
    const server = await startRemote();
    const app = await startRemoteApp(remoteFor([server]));
    app.fake.reply(calls(['call_a', tool]), says('Done.'));
    const { response } = await streamOf(app.url, { tools: [wireTool(brought(server))] });
    const ours =
      error === undefined ? [`function_call ${tool} completed`] : [`mcp_call ${tool} failed`, 'message completed'];
    expect([response.status, shape(response).slice(1)]).toEqual(['completed', ours]);
    if (error !== undefined) expect(response.output[1]).toMatchObject({ error });
    expect(app.everything()).not.toContain('hunter2');
  });

  it('[F-28] that is not let in any more is an item with the status, and the response goes on', async () => {
    const server = await startRemote();
    const app = await startRemoteApp(remoteFor([server]));
    app.fake.reply(calls(['call_a', 'echo']), says('Done.'));
    const first = await streamOf(app.url, { tools: [wireTool(brought(server))] });
    server.refuseWith = { status: 403, body: 'Go away.' };
    app.fake.reply(calls(['call_a', 'echo']), says('Done.'));
    const { response } = await streamOf(app.url, { tools: [wireTool(brought(server))] });
    expect([first.response.status, response.status, response.output[1]]).toEqual([
      'completed',
      'completed',
      expect.objectContaining({
        type: 'mcp_call',
        status: 'failed',
        output: null,
        error: {
          type: 'http_error',
          code: 403,
          message: expect.stringMatching(/answered with HTTP 403 \(Forbidden\)/),
        },
      }),
    ]);
  });

  it('[T-09, B-32] that repeats the secrets shows none of them', async () => {
    const server = await startRemote();
    const app = await startRemoteApp(remoteFor([server]));
    app.fake.reply(calls(['call_a', 'headers']), says('Done.'));
    const { text } = await streamOf(app.url, { tools: [wireTool(brought(server))] });
    const everything = app.everything();
    expect([text.includes('***'), text.includes('hunter2'), everything.includes('hunter2')]).toEqual([
      true,
      false,
      false,
    ]);
  });

  it('[T-09, B-32] in a continuation that names no tools is made without the secrets', async () => {
    const server = await startRemote();
    const seen = echoesOf(server);
    const app = await startRemoteApp(remoteFor([server]));
    app.fake.reply(says('Hi.'), calls(['call_a', 'echo', JSON.stringify(CALL)]), says('Done.'));
    const first = await streamOf(app.url, { tools: [wireTool(brought(server))] });
    const before = server.requests.length;
    const { response } = await streamOf(app.url, { previous_response_id: first.response.id });
    const given = server.requests.slice(before).map(({ headers }) => headers.authorization);
    expect([shape(response)[0], seen, new Set(given)]).toEqual([
      'mcp_call echo completed',
      [CALL],
      new Set([undefined]),
    ]);
  });
});

describeRemote('an approval of a call of a server that a request brings', () => {
  /** A call waits; how the approval may be tried, and what of it reached the server. */
  async function waiting(options: RouterOptions = {}) {
    const server = await startRemote();
    const seen = echoesOf(server);
    let scope = 'one';
    const app = await startRemoteApp(remoteFor([server]), { scope: () => scope, ...options });
    app.fake.reply(calls(['call_a', 'echo', JSON.stringify(CALL)]));
    const given = brought(server, { approval: 'always' });
    const tools = [wireTool(given)];
    const { response } = await streamOf(app.url, { tools });
    app.fake.reply(says('Done.'));
    const answer = answerTo(requestIn(response));
    const attempt = async (input: readonly unknown[], more: JsonObject = {}) => {
      const { status, text } = await post(app.url, { tools, input, ...more });
      return status === 200 ? [200] : [status, JSON.parse(text).error.code];
    };
    const become = (other: string) => {
      scope = other;
    };
    return { seen, answer, response, given, attempt, become };
  }

  it('[T-09] counts once, one after the other', async () => {
    const { attempt, answer, response, seen } = await waiting();
    const again = [QUESTION, ...response.output, answer];
    expect([
      await attempt([answer]),
      await attempt([answer]),
      await attempt(again),
      await attempt([answer], { previous_response_id: response.id }),
      seen,
    ]).toEqual([[200], [400, 'approval_not_found'], [400, 'approval_not_found'], [400, 'approval_not_found'], [CALL]]);
  });

  it('[T-09] counts once, at the same time, though all were found to be good', async () => {
    const { attempt, answer, seen } = await waiting({ store: findingTogether(8) });
    const tried = await Promise.all(Array.from({ length: 8 }, () => attempt([answer])));
    const refused = Array.from({ length: 7 }, () => [400, 'approval_not_found']);
    expect([tried.toSorted(([one], [other]) => Number(one) - Number(other)), seen]).toEqual([
      [[200], ...refused],
      [CALL],
    ]);
  });

  it.each<[string, (requested: Awaited<ReturnType<typeof waiting>>) => Promise<unknown>, string]>([
    [
      'other arguments',
      ({ attempt, answer, response }) => attempt([QUESTION, ...response.output.map(withOther), answer]),
      'approval_mismatch',
    ],
    [
      'another URL under the label',
      ({ attempt, answer, given }) =>
        attempt([answer], { tools: [wireTool({ ...given, url: `${given.url}?of=other` })] }),
      'approval_mismatch',
    ],
    ['no server any more', ({ attempt, answer }) => attempt([answer], { tools: [] }), 'approval_mismatch'],
    [
      'a choice of tools without it',
      ({ attempt, answer, given }) => attempt([answer], { tools: [{ ...wireTool(given), allowed_tools: ['fail'] }] }),
      'approval_mismatch',
    ],
  ])('[T-09] with %s is refused, and counts where nothing was changed', async (_, attempted, code) => {
    const requested = await waiting();
    expect([await attempted(requested), [...requested.seen]]).toEqual([[400, code], []]);
    expect([await requested.attempt([requested.answer]), requested.seen]).toEqual([[200], [CALL]]);
  });

  it('[T-09, P-13] from another scope is refused', async () => {
    const { attempt, answer, seen, become } = await waiting();
    become('two');
    expect([await attempt([answer]), [...seen]]).toEqual([[400, 'approval_not_found'], []]);
    become('one');
    expect([await attempt([answer]), seen]).toEqual([[200], [CALL]]);
  });

  function withOther(item: WireResponse['output'][number]): JsonObject {
    return item.type === 'mcp_approval_request' ? { ...item, arguments: '{"text":"Oslo"}' } : item;
  }
});

describeRemote('a hostile server that a request brings', () => {
  const soon = { connectTimeoutMs: 1_000 };
  /** Of a server that says nothing the URL is at fault, of one that talks nonsense the tool. */
  const unavailable = {
    status: 422,
    code: 'mcp_server_unavailable',
    param: expect.stringMatching(/^tools\[0\](\.server_url)?$/),
  };

  it('[T-09] whose list has no end has 64 pages', async () => {
    let page = 0;
    const site = await startScripted(() => ({ tools: [{ name: `t${page++}` }], nextCursor: `${page}` }));
    const app = await startRemoteApp(remoteFor([site]));
    app.fake.reply(says('Done.'));
    const { response } = await streamOf(app.url, { tools: [wireTool(brought(site))] });
    const [list] = response.output;
    expect([response.status, list?.type === 'mcp_list_tools' && list.tools.length]).toEqual(['completed', 64]);
  });

  it('[T-09, P-14] whose names are those of parts of an object is one like any other', async () => {
    const names = ['__proto__', 'constructor', 'toString'];
    const annotations = JSON.parse('{"__proto__":{"polluted":true}}');
    const inputSchema = JSON.parse('{"type":"object","__proto__":{"polluted":true}}');
    const site = await startScripted((method, { name }) =>
      method === 'tools/list'
        ? { tools: names.map((each) => ({ name: each, annotations, inputSchema })) }
        : { content: [{ type: 'text', text: `${name} ran.` }] },
    );
    const app = await startRemoteApp(remoteFor([site]));
    const made = names.map((name, index) => [`call_${index}`, name, '{"__proto__":{"polluted":true}}'] as const);
    app.fake.reply(calls(...made), says('Done.'));
    const { response } = await streamOf(app.url, { tools: [wireTool(brought(site, { label: '__proto__' }))] });
    const ran = response.output.flatMap((item) => (item.type === 'mcp_call' ? [[item.server_label, item.output]] : []));
    expect(ran).toEqual(names.map((name) => ['__proto__', `${name} ran.`]));
    expect(Object.prototype).not.toHaveProperty('polluted');
  });

  it.each(['application/json', 'text/event-stream'])(
    '[T-09, B-40] that answers a call without end, as %s, fails that call alone',
    async (type) => {
      let written = 0;
      const site = await startFlooding(type, (bytes) => {
        written += bytes;
      });
      const app = await startRemoteApp(remoteFor([site]));
      app.fake.reply(calls(['call_a', 'flood'], ['call_b', 'small']), says('Done.'));
      const { response } = await streamOf(app.url, { tools: [wireTool(brought(site))] });
      expect([response.status, shape(response).slice(1), written < 100 * 1024 * 1024]).toEqual([
        'completed',
        ['mcp_call flood failed', 'mcp_call small completed', 'message completed'],
        true,
      ]);
    },
  );

  it.each<[string, (response: ServerResponse) => void]>([
    ['says nothing', () => {}],
    [
      'drips',
      (response) => drip(response.writeHead(200, { 'content-type': 'application/json' }), () => response.write('x')),
    ],
  ])('[T-09, B-15] that %s is given up, and the next request is served', async (_, answer) => {
    const site = await startTlsSite((_request, response) => answer(response));
    const app = await startRemoteApp(remoteFor([site], soon));
    expect(await errorOf(app, { tools: [wireTool(brought(site))] })).toMatchObject(unavailable);
    app.fake.reply(says('Done.'));
    expect((await streamOf(app.url)).response.status).toBe('completed');
  });

  it('[T-09, B-19] that redirects to a metadata service is not followed', async () => {
    const location = 'https://169.254.169.254/latest/meta-data/';
    const site = await startTlsSite((_request, response) => response.writeHead(307, { location }).end());
    const app = await startRemoteApp(remoteFor([site]));
    const watch = watchConnections();
    const error = await errorOf(app, { tools: [wireTool(brought(site))] });
    watch.stop();
    expect([error, new Set(watch.attempts)]).toEqual([expect.objectContaining(unavailable), new Set(['127.0.0.1'])]);
    expect(app.everything()).not.toContain('hunter2');
  });

  it('[T-09, B-19] whose name leads elsewhere in the middle of a response is not followed there', async () => {
    const server = await startRemote();
    const addresses = ['127.0.0.1'];
    const app = await startRemoteApp(remoteFor([server], { ...egressTo(server, {}), ...resolving(addresses) }));
    server.events.once('call:crash', () => addresses.splice(0, 1, '169.254.169.254'));
    app.fake.reply(calls(['call_a', 'crash']), calls(['call_b', 'echo', JSON.stringify(CALL)]), says('Done.'));
    const seen = echoesOf(server);
    const watch = watchConnections();
    const { response } = await streamOf(app.url, { tools: [wireTool(brought(server))] });
    watch.stop();
    expect([shape(response).slice(1), seen, new Set(watch.attempts)]).toEqual([
      ['mcp_call crash failed', 'mcp_call echo failed', 'message completed'],
      [],
      new Set(['127.0.0.1']),
    ]);
  });
});
