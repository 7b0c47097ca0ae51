/** Sessions of MCP clients: whose they are, how many there may be, and how they end. */
import { once } from 'node:events';
import { beginSession, closeAll, connect, INITIALIZE, post, startMcp } from './mcp-app.ts';

afterEach(closeAll);

const LIST = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
const HANG = { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'hang', arguments: {} } };

async function statusOf(url: URL, id: string, message: unknown = LIST, headers = {}): Promise<number> {
  const answer = await post(url, message, { 'mcp-session-id': id, ...headers });
  await answer.text();
  return answer.status;
}

/** The error of JSON-RPC. The cast: every refusal has one. */
async function errorIn(answer: Response) {
  return ((await answer.json()) as { error: { code: number; data: { code: string } } }).error;
}

function remove(url: URL, id: string, key = 'ada'): Promise<Response> {
  return fetch(url, { method: 'DELETE', headers: { authorization: `Bearer ${key}`, 'mcp-session-id': id } });
}

describe('a session', () => {
  it('[E-16] of another tenant is a 404, to use and to end, as is one that never was', async () => {
    const { url } = await startMcp();
    const id = await beginSession(url);
    const bob = { authorization: 'Bearer bob' };
    const answer = await post(url, LIST, { 'mcp-session-id': id, ...bob });
    expect([answer.status, await answer.json()]).toEqual([
      404,
      {
        jsonrpc: '2.0',
        id: null,
        error: {
          code: -32001,
          message: 'Session not found. Begin a new one with initialize.',
          data: { code: 'not_found', request_id: answer.headers.get('x-request-id') },
        },
      },
    ]);
    expect([(await remove(url, id, 'bob')).status, await statusOf(url, 'never'), await statusOf(url, id)]).toEqual([
      404, 404, 200,
    ]);
  });

  it('[E-16] is over once its client ends it, and what runs in it is stopped', async () => {
    const { url, events } = await startMcp();
    const id = await beginSession(url);
    const called = once(events, 'called');
    const hanging = post(url, HANG, { 'mcp-session-id': id });
    await called;
    const aborted = once(events, 'aborted');
    expect((await remove(url, id)).status).toBe(200);
    await aborted;
    await (await hanging).text();
    expect(await statusOf(url, id)).toBe(404);
  });

  it('[E-16] makes room by ending the longest unused of the same tenant, and no other', async () => {
    const { url } = await startMcp({ maxSessionsPerScope: 2 });
    const bob = await beginSession(url, { authorization: 'Bearer bob' });
    const first = await beginSession(url);
    const second = await beginSession(url);
    await statusOf(url, first);
    const third = await beginSession(url);
    const statuses = [first, second, third].map((id) => statusOf(url, id));
    expect([...(await Promise.all(statuses)), await statusOf(url, bob, LIST, { authorization: 'Bearer bob' })]).toEqual(
      [200, 404, 200, 200],
    );
  });

  it('[E-16] is taken from the tenant that has most where there are too many of all tenants', async () => {
    const { url } = await startMcp({ maxSessions: 3 });
    const bob = await beginSession(url, { authorization: 'Bearer bob' });
    const [first] = [await beginSession(url), await beginSession(url)];
    await beginSession(url, { authorization: 'Bearer eve' });
    expect([
      await statusOf(url, String(first)),
      await statusOf(url, bob, LIST, { authorization: 'Bearer bob' }),
    ]).toEqual([404, 200]);
  });

  it('[E-16] in which something runs is not taken away: a further one is refused', async () => {
    const { url, events } = await startMcp({ maxSessionsPerScope: 1 });
    const id = await beginSession(url);
    const called = once(events, 'called');
    const leaving = new AbortController();
    const hanging = fetch(url, {
      method: 'POST',
      signal: leaving.signal,
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        authorization: 'Bearer ada',
        'mcp-session-id': id,
      },
      body: JSON.stringify(HANG),
    }).then((answer) => answer.text());
    await called;
    const refused = await post(url, INITIALIZE);
    expect([refused.status, (await errorIn(refused)).data.code]).toEqual([429, 'too_many_streams']);
    // The client leaves: the tool is stopped, and the session may be replaced.
    const aborted = once(events, 'aborted');
    leaving.abort();
    await aborted;
    await expect(hanging).rejects.toThrow();
    expect([await beginSession(url), await statusOf(url, id)]).toEqual([expect.stringMatching(/^[\w-]{36}$/), 404]);
  });

  it('[E-16] that was unused for too long is over', async () => {
    const { url } = await startMcp({ sessionIdleMs: 1 });
    const id = await beginSession(url);
    const begun = Date.now();
    // Until the clock shows another time.
    while (Date.now() - begun < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(await statusOf(url, id)).toBe(404);
  });

  it('[E-16] needs a tenant: a request with a cookie and no key has none', async () => {
    const { url } = await startMcp();
    const answer = await post(url, INITIALIZE, { authorization: '', cookie: 'a=b' });
    expect([answer.status, (await errorIn(answer)).data.code]).toEqual([400, 'tenant_unknown']);
  });
});

describe('a message', () => {
  it.each([
    ['a batch', [LIST, LIST], 400, -32600],
    ['no JSON', '{"jsonrpc":', 400, -32700],
    ['no message', { hello: 'world' }, 400, -32600],
    ['a call without a session', LIST, 400, -32600],
  ])('[E-16] that is %s is refused in the words of JSON-RPC', async (_what, message, status, code) => {
    const { url } = await startMcp();
    const answer = await post(url, message);
    expect([answer.status, (await errorIn(answer)).code]).toEqual([status, code]);
  });

  it('[E-16] that is too large is refused', async () => {
    const { url } = await startMcp({ limits: { request: { bodyBytes: 100 } } });
    const answer = await post(url, { ...LIST, params: { text: 'x'.repeat(100) } });
    expect([answer.status, (await errorIn(answer)).data.code]).toEqual([413, 'request_too_large']);
  });

  it('[E-16] with the id of one that is not answered is refused', async () => {
    const { url, events } = await startMcp();
    const id = await beginSession(url);
    const called = once(events, 'called');
    const hanging = post(url, HANG, { 'mcp-session-id': id });
    await called;
    const statuses = [await statusOf(url, id, HANG), await statusOf(url, id, LIST)];
    await remove(url, id);
    await (await hanging).text();
    expect(statuses).toEqual([400, 200]);
  });

  it('[E-16] that cancels a call stops the tool, and gives the place of the call back', async () => {
    const { url, events } = await startMcp({ maxRequestsPerScope: 1 });
    const id = await beginSession(url);
    const called = once(events, 'called');
    const hanging = post(url, HANG, { 'mcp-session-id': id });
    await called;
    const [refused, aborted] = [await statusOf(url, id), once(events, 'aborted')];
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: HANG.id } };
    expect([refused, await statusOf(url, id, cancel)]).toEqual([429, 202]);
    await aborted;
    await (await hanging).text();
    expect(await statusOf(url, id)).toBe(200);
  });

  it('[E-16] beyond the limit of a tenant is refused, and that of another tenant is not', async () => {
    const { url, events } = await startMcp({ maxRequestsPerScope: 1 });
    const id = await beginSession(url);
    const bob = { authorization: 'Bearer bob' };
    const called = once(events, 'called');
    const hanging = post(url, HANG, { 'mcp-session-id': id });
    await called;
    const other = await beginSession(url, bob);
    const statuses = [await statusOf(url, id), await statusOf(url, other, LIST, bob)];
    await remove(url, id);
    await (await hanging).text();
    expect(statuses).toEqual([429, 200]);
  });

  it('[E-16] is refused during a shutdown, which waits for what runs, and stops it at last', async () => {
    const { url, events, router } = await startMcp();
    const id = await beginSession(url);
    const called = once(events, 'called');
    const hanging = post(url, HANG, { 'mcp-session-id': id });
    await called;
    const aborted = once(events, 'aborted');
    const drained = router.drain({ timeoutMs: 200 });
    expect(await statusOf(url, id)).toBe(503);
    await Promise.all([drained, aborted]);
    await (await hanging).text();
  });
});

describe('a web page', () => {
  it.each([
    ['another site', {}, { origin: 'https://evil.example' }, 403],
    ['the same name, which may be one of DNS rebinding', {}, { origin: 'http://127.0.0.1' }, 403],
    ['no site', {}, { origin: 'null' }, 403],
    ['a site that is allowed', { allowedOrigins: ['app.example'] }, { origin: 'https://app.example' }, 200],
    ['another name of the server', { allowedHosts: ['mcp.example'] }, {}, 403],
    ['a name that is allowed', { allowedHosts: ['127.0.0.1'] }, {}, 200],
  ])('[E-16] of %s', async (_what, options, headers, status) => {
    const { url } = await startMcp(options);
    const answer = await post(url, INITIALIZE, headers);
    await answer.text();
    expect(answer.status).toBe(status);
  });
});

it('[E-16] there is no stream to listen to, and clients of SDK 1 do without', async () => {
  const { url } = await startMcp();
  const answer = await fetch(url, { headers: { accept: 'text/event-stream' } });
  expect([answer.status, answer.headers.get('allow')]).toEqual([405, 'POST, DELETE']);
  const client = await connect('SDK 1', url);
  expect((await client.listTools()).tools.length).toBe(6);
});

it('[E-16] a subscription of the newer era is refused: it would hold a place for ever', async () => {
  const { url } = await startMcp();
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { notifications: { toolsListChanged: true }, _meta: meta };
  const message = { jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params };
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'subscriptions/listen' };
  const answer = await post(url, message, headers);
  expect(JSON.stringify(await answer.text())).toContain('Subscription limit reached');
});
