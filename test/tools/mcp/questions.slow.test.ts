/** What MCP servers ask of their clients: answered by the host, or refused at once. */
import type { McpQuestion, McpServerConfig, McpToolsOptions } from '../../../src/tools/mcp/index.ts';
import {
  callTool,
  closeAll,
  expectOneFailure,
  failureOf,
  never,
  openTools,
  startServer,
  stdioServer,
  until,
} from '../../support/mcp-client.ts';
import { startModern } from '../../support/mcp-modern-server.ts';
import { describeWhere } from '../../support/skipping.ts';

afterEach(closeAll);

type Servers = Readonly<Record<string, () => Promise<McpServerConfig>>>;

const LEGACY: Servers = {
  stdio: async () => stdioServer(),
  'streamable HTTP': async () => ({ url: (await startServer()).url }),
  SSE: async () => ({ url: (await startServer()).sseUrl, type: 'sse' }),
};

async function toolsOf(config: McpServerConfig, options: Omit<McpToolsOptions, 'servers'> = {}) {
  return openTools({ a: config }, options);
}

describe.each(Object.entries(LEGACY))('a server over %s', (_transport, configOf) => {
  it('[X-15] is refused its questions at once where nobody answers', async () => {
    const tools = await toolsOf(await configOf());
    for (const name of ['ask', 'sample']) {
      const outcome = await callTool(tools, `a/${name}`).then(String, ({ message }: Error) => message);
      expect(outcome).toMatch(/does not support|not support|Method not found/);
    }
    expect(await callTool(tools, 'a/echo', { text: 'next' })).toEqual({ content: 'next' });
  });

  it('[X-15] is answered by the host', async () => {
    const asked: McpQuestion[] = [];
    const tools = await toolsOf(await configOf(), {
      onElicit(question) {
        asked.push(question);
        return question.params.mode === 'url' ? { action: 'decline' } : { action: 'accept', content: { name: 'Ada' } };
      },
      onSample: () => ({ role: 'assistant', model: 'm', content: { type: 'text', text: 'Hello.' } }),
    });
    expect([
      await callTool(tools, 'a/ask'),
      await callTool(tools, 'a/ask', { url: 'https://login.example/' }),
      await callTool(tools, 'a/sample'),
    ]).toEqual([{ content: 'accept Ada' }, { content: 'decline undefined' }, { content: 'Hello.' }]);
    expect(asked.map(({ server, scope, params }) => [server, scope, params.message])).toEqual([
      ['a', undefined, 'Who are you?'],
      ['a', undefined, 'Log in.'],
    ]);
  });
});

describe('questions of a server', () => {
  it('[X-15] that the host fails to answer fail, without its words', async () => {
    const tools = await toolsOf(stdioServer(), {
      onElicit() {
        throw new Error('a secret of the host');
      },
      onSample: () => 'nothing' as never,
    });
    const errors = [await failureOf(callTool(tools, 'a/ask')), await failureOf(callTool(tools, 'a/sample'))];
    expect(errors.map(({ message }) => message)).toEqual(['There is no answer.', 'There is no answer.']);
    expect(tools.warnings).toEqual([
      "mcpTools: onElicit has no answer for server 'a': a secret of the host",
      "mcpTools: onSample has no answer for server 'a': it must return an object",
    ]);
  });

  it('[X-15] without end are bounded', async () => {
    let open = 0;
    let most = 0;
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const tools = await toolsOf(stdioServer(), {
      async onElicit() {
        open += 1;
        most = Math.max(most, open);
        if (open === 8) setTimeout(answer, 50);
        await answered;
        return { action: 'cancel' };
      },
    });
    const { content } = await callTool(tools, 'a/askAll', { times: 20 });
    expect([
      String(content).includes('Too many questions are open.'),
      String(content).includes('answered'),
      most,
    ]).toEqual([true, true, 8]);
  });

  it('[X-15] are given up when nobody waits for them', async () => {
    const seen: string[] = [];
    const tools = await toolsOf(stdioServer(), {
      onElicit({ signal }) {
        seen.push('asked');
        signal.addEventListener('abort', () => seen.push('aborted'));
        return new Promise(() => {});
      },
    });
    const call = failureOf(callTool(tools, 'a/ask'));
    await until(() => seen.length === 1);
    await tools.close();
    await until(() => seen.length === 2);
    expect([(await call).name, seen]).toEqual(['McpCallError', ['asked', 'aborted']]);
  });

  it('[X-15] that nobody waits for make room for others', async () => {
    let isAway = true;
    const tools = await toolsOf(stdioServer(), {
      onElicit: () => (isAway ? new Promise(() => {}) : { action: 'accept', content: { name: 'Ada' } }),
    });
    await tools.list(never());
    for (let times = 0; times < 3; times += 1) {
      const leaving = new AbortController();
      const calls = Array.from({ length: 4 }, () => failureOf(callTool(tools, 'a/ask', {}, leaving.signal)));
      await callTool(tools, 'a/echo', { text: 'x' });
      leaving.abort(new Error('The client left.'));
      await Promise.all(calls);
    }
    isAway = false;
    expect(await callTool(tools, 'a/ask')).toEqual({ content: 'accept Ada' });
  });

  it('[X-15] of a user’s own connection name whose it is', async () => {
    const scopes: unknown[] = [];
    const { url } = await startServer();
    const tools = await toolsOf(
      { url, authorization: () => 'Bearer token-of-one' },
      {
        onElicit({ scope }) {
          scopes.push(scope);
          return { action: 'decline' };
        },
      },
    );
    expect([await callTool(tools, 'a/ask'), scopes]).toEqual([{ content: 'decline undefined' }, ['anonymous']]);
  });
});

describeWhere(process.env.MCP_SDK !== 'v1', 'MCP_SDK=v1 takes @modelcontextprotocol/client away')(
  'questions of a server of 2026-07-28',
  () => {
    it('[X-15] are refused at once where nobody answers', async () => {
      const tools = await toolsOf({ url: (await startModern()).url });
      await expectOneFailure(tools, 'a/ask');
    });

    it('[X-15] are answered by the host', async () => {
      const tools = await toolsOf(
        { url: (await startModern()).url },
        {
          onElicit: () => ({ action: 'accept', content: { name: 'Ada' } }),
        },
      );
      expect(await callTool(tools, 'a/ask')).toEqual({ content: 'hello Ada' });
    });
  },
);
