/** What fails after the first round: the response ends once, as failed, with all that was done before. */
import { memoryStore } from '../../../src/index.ts';
import { chatChunk, chatCompletion, type FakeReply, type FakeUpstream } from '../../../src/testing/index.ts';
import {
  calls,
  deferred,
  played,
  playFailure,
  providerOf,
  reported,
  saying,
  says,
  shape,
  streamOf,
  typesOf,
  withTools,
} from './support.ts';

const OPTIONS = { tools: providerOf('files', ['read']) };
const READ = calls(['call_r', 'read']);
const SERVER_ERROR: FakeReply = { status: 500, body: '{"error":{"message":"CUDA out of memory"}}' };

describe('a model server that fails in a later round', () => {
  it.each<[string, FakeReply, string, readonly string[]]>([
    ['refuses it', SERVER_ERROR, 'upstream_error', []],
    ['cuts the stream', { body: chatChunk({ content: 'It sa' }) }, 'upstream_truncated', ['message incomplete']],
    [
      'cuts the connection',
      { body: chatChunk({ content: 'It sa' }), cutAfterBytes: 10_000 },
      'upstream_truncated',
      ['message incomplete'],
    ],
    [
      'reports an error in the stream',
      { body: `${chatChunk({ content: 'It sa' })}data: {"error":{"message":"overloaded"}}\n\n` },
      'upstream_error',
      ['message incomplete'],
    ],
    ['answers with what is no model’s answer', { body: '<html>nginx</html>' }, 'upstream_error', []],
  ])(
    '[P-04, P-09, D-20, T-02] because it %s, fails the response: an error, then response.failed',
    async (_, reply, code, more) => {
      const { response, events } = await withTools(OPTIONS, (app) => playFailure(app, [READ, reply]));
      expect({
        items: shape(response),
        code: response.error?.reason,
        ending: typesOf(events).slice(-2),
      }).toEqual({
        items: ['mcp_list_tools completed', 'mcp_call read completed', ...more],
        code,
        ending: ['error', 'failed'],
      });
    },
  );

  it('[P-04, B-28] leaves a response that is not kept', async () => {
    const store = memoryStore();
    await withTools({ ...OPTIONS, store }, async (app) => {
      const { response } = await playFailure(app, [READ, SERVER_ERROR]);
      expect((await fetch(`${app.url}/responses/${response.id}`)).status).toBe(404);
    });
  });

  it('[S-10] has used what its first round used', async () => {
    const { response } = await withTools(OPTIONS, (app) => playFailure(app, [READ, SERVER_ERROR]));
    expect(response.usage).toMatchObject({ input_tokens: 9, output_tokens: 12, total_tokens: 21 });
  });

  it('[P-04] fails calls of the server’s that were half written', async () => {
    const half = chatChunk({ tool_calls: [{ index: 0, id: 'call_x', function: { name: 'read', arguments: '{"p' } }] });
    const { response, toolCalls } = await withTools(OPTIONS, async (app) => ({
      ...(await playFailure(app, [READ, { body: half }])),
      toolCalls: app.toolCalls.length,
    }));
    // One call in each of the three answers: the half one never ran.
    expect([shape(response), toolCalls]).toEqual([
      ['mcp_list_tools completed', 'mcp_call read completed', 'mcp_call read incomplete'],
      3,
    ]);
  });

  it('[P-09] in the first round still refuses with its own status', async () => {
    await withTools(OPTIONS, async ({ url, fake }) => {
      fake.reply(SERVER_ERROR);
      const init = { method: 'POST', headers: { 'content-type': 'application/json' } };
      const body = JSON.stringify({ model: 'm', input: 'Hi', stream: true });
      expect((await fetch(`${url}/responses`, { ...init, body })).status).toBe(500);
    });
  });

  it('[P-09] is called again if that makes sense, invisibly to the client', async () => {
    const busy: FakeReply = { status: 503, headers: { 'retry-after': '0' }, body: '{"error":{"message":"Loading"}}' };
    await withTools(OPTIONS, async ({ url, fake }) => {
      fake.reply(READ, busy, says('Done.'));
      const { response } = await streamOf(url);
      expect([shape(response), fake.requests.length]).toEqual([
        ['mcp_list_tools completed', 'mcp_call read completed', 'message completed'],
        3,
      ]);
    });
  });
});

describe('a model server that does not stream', () => {
  it('[P-08, T-02] is called round by round all the same', async () => {
    const call = { id: 'call_r', type: 'function', function: { name: 'read', arguments: '{"p":1}' } };
    const script = [{ body: chatCompletion({ tool_calls: [call] }) }, { body: chatCompletion('Done.') }];
    const { response } = await played(OPTIONS, script);
    expect([shape(response), response.output.slice(0, 2).map(reported)[1], response.usage?.total_tokens]).toEqual([
      ['mcp_list_tools completed', 'mcp_call read completed', 'message completed'],
      'files ran read.',
      42,
    ]);
  });
});

describe('a turn that is ended while a tool runs', () => {
  /** Runs with a tool that never answers; `end` is called when it runs. */
  async function endedBy(
    options: object,
    end: (app: { readonly drain: () => Promise<void>; readonly fake: FakeUpstream }) => void,
  ) {
    const running = deferred<AbortSignal>();
    const tools = providerOf('files', ['read'], (_, signal) => {
      running.resolve(signal);
      return new Promise(() => {});
    });
    return withTools({ tools, ...options }, async ({ url, fake, router }) => {
      fake.reply(READ);
      const stream = streamOf(url);
      const signal = await running.promise;
      end({ drain: () => router.drain({ timeoutMs: 1 }), fake });
      const { response, events } = await stream;
      const stored = await fetch(`${url}/responses/${response.id}`);
      return {
        items: shape(response),
        code: response.error?.reason,
        ending: typesOf(events).slice(-3),
        aborted: signal.aborted,
        stored: stored.status,
        models: fake.requests.length,
      };
    });
  }

  const failed = (code: string) => ({
    items: ['mcp_list_tools completed', 'mcp_call read incomplete'],
    code,
    ending: ['output_item.done', 'error', 'failed'],
    aborted: true,
    stored: 404,
    models: 1,
  });

  it('[P-04, T-05] because its time is up fails with the call left incomplete and the tool aborted', async () => {
    expect(await endedBy({ limits: { turns: { durationMs: 300 } } }, () => {})).toEqual(failed('duration_exceeded'));
  });

  it('[P-04, T-05] because the server shuts down fails likewise', async () => {
    expect(await endedBy({}, ({ drain }) => void drain())).toEqual(failed('server_draining'));
  });
});

describe('a store that fails', () => {
  it('[P-04] fails the response after its rounds', async () => {
    const store = { ...memoryStore(), put: () => Promise.reject(new Error('disk full')) };
    const { response } = await withTools({ ...OPTIONS, store }, (app) => playFailure(app, [READ, says('Done.')]));
    expect([shape(response), response.error?.reason]).toEqual([
      ['mcp_list_tools completed', 'mcp_call read completed', 'message completed'],
      'store_error',
    ]);
  });
});

describe('a provider whose tools cannot be listed', () => {
  it('[T-01, A-31, B-16] is noted, and the tools of the others are there', async () => {
    const broken = { ...providerOf('mail', []), list: () => Promise.reject(new Error('No route to host.')) };
    const tools = [broken, providerOf('files', ['read'], () => Promise.resolve(saying('Read.')))];
    const { response, requested, notes } = await played({ tools }, [READ, says('Done.')]);
    expect({ status: response.status, offered: requested[0]?.tools?.length, note: notes[0] }).toEqual({
      status: 'completed',
      offered: 1,
      note: { code: 'tool_dropped', message: "The tools of 'mail' could not be listed: No route to host." },
    });
  });
});
