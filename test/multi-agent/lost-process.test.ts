/** Responses of several agents in the background whose process is gone: what their agents had begun is in no store. */

import type { ToolProvider } from '../../src/index.ts';
import { sqliteStore } from '../../src/stores/sqlite/sqlite-store.ts';
import { chatChunk } from '../../src/testing/index.ts';
import { HandQueue } from '../apis/background/hand-engine.ts';
import { sqliteDrivers } from '../stores/sqlite-drivers.ts';
import { startApp } from '../support/app.ts';
import { gate } from '../support/gate.ts';
import { type AgentsApp, type Answer, call, inShort, lastSaid, type Script, type Shown, withAgents } from './app.ts';

const ROOT = '/root';
const CHILD = '/root/reader';
const CALLER = '/root/caller';

/** An app, and a second process that the test hands its response to. */
interface TwoProcesses extends AgentsApp {
  /** Resolves when everybody can read this text of the response. */
  logged(id: string, text: string): Promise<void>;
  /** Begins a response in the background. */
  begin(): Promise<string>;
  /** The second goes on with it; its whole stream, as everybody reads it then, and what is stored. */
  takeOver(id: string): Promise<{ readonly events: readonly Shown[]; readonly stored: Answer }>;
}

async function withTwoProcesses(
  scripts: Readonly<Record<string, Script>>,
  run: (app: TwoProcesses) => Promise<void>,
  { runsAtOnce = true, tools }: { readonly runsAtOnce?: boolean; readonly tools?: ToolProvider } = {},
): Promise<void> {
  const queue = new HandQueue({ runsAtOnce });
  const database = sqliteDrivers[0]?.open?.(':memory:');
  if (!database) throw new Error('No SQLite.');
  const shared = {
    ...{ store: sqliteStore({ database }), secret: 'a secret of more than sixteen bytes', logger: false as const },
    ...{ multiAgent: true, scope: () => 'all', hooks: { onError: () => {} }, ...(tools ? { tools } : {}) },
  };
  const options = () => ({
    ...shared,
    background: { engine: queue.engine() },
    limits: { turns: { durationMs: 30_000 } },
  });
  try {
    await withAgents(
      scripts,
      async (app) => {
        const second = await startApp({ upstream: app.fake, options: options() });
        try {
          await run({
            ...app,
            async logged(id, text) {
              const left = new AbortController();
              const { body } = await fetch(`${app.url}/responses/${id}?stream=true`, { signal: left.signal });
              let read = '';
              for await (const bytes of body as unknown as AsyncIterable<Uint8Array>) {
                read += new TextDecoder().decode(bytes);
                if (read.includes(text)) break;
              }
              left.abort();
            },
            begin: async () => (await app.ask({ background: true })).id,
            async takeOver(id) {
              await queue.hand(1, { scope: 'all', id }).outcome;
              const text = await (await fetch(`${second.url}/responses/${id}?stream=true`)).text();
              // The casts: what this server sends.
              const stored = (await (await fetch(`${second.url}/responses/${id}`)).json()) as Answer;
              const lines = text.split('\n').filter((line) => /^data: \{/.test(line));
              const events = lines.map((line) => JSON.parse(line.slice('data: '.length)) as Shown);
              expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, at) => at));
              expect(events.at(-1)?.response).toEqual(stored);
              return { events, stored };
            },
          });
        } finally {
          await second.router.drain({ timeoutMs: 1 });
          await second.close();
        }
      },
      options(),
    );
  } finally {
    database.close();
  }
}

const delegating: Script = (asked, round) => {
  if (lastSaid(asked).startsWith('Message to /root from')) return { text: 'All is read.' };
  return round === 1
    ? call('spawn_agent', { task_name: 'reader', message: 'Read.' })
    : call('wait_agent', {}, `w${round}`);
};

it('[E-13] shows in the background what an agent writes while another one waits for it', async () => {
  const reading: Script = () => ({ body: chatChunk({ content: 'I read' }), stallAfterBytes: 1e6 });
  await withTwoProcesses({ [ROOT]: delegating, [CHILD]: reading }, async ({ begin, logged, takeOver }) => {
    const id = await begin();
    await logged(id, '"action":"wait_agent"');
    await logged(id, 'I read');
    const { stored } = await takeOver(id);
    expect(inShort(stored.output.filter(({ type }) => type === 'message'))).toEqual([
      '/root/reader message final_answer: I read',
    ]);
  });
}, 60_000);

describe('a response of several agents whose process is gone', () => {
  it('[E-13] fails, with what its agents had written, and says why', async () => {
    const reached = gate();
    const never = new Promise<never>(() => {});
    const reading: Script = () => {
      reached.open();
      return never;
    };
    await withTwoProcesses({ [ROOT]: delegating, [CHILD]: reading }, async ({ begin, takeOver, agents }) => {
      const id = await begin();
      await reached.opened;
      const { events, stored } = await takeOver(id);
      expect([stored.status, events.at(-1)?.type]).toEqual(['failed', 'response.failed']);
      expect(JSON.stringify(stored.error)).toContain('The process that ran the agents of this response was lost.');
      expect(stored.output[0]).toMatchObject({ type: 'multi_agent_call', agent: { agent_name: ROOT } });
      // The second asked no model.
      expect([
        agents.filter((each) => each === ROOT).length <= 2,
        agents.filter((each) => each === CHILD).length,
      ]).toEqual([true, 1]);
    });
  }, 60_000);

  it('[E-13] fails with what they were writing and calling, each as far as it was', async () => {
    const called = gate();
    const never = new Promise<never>(() => {});
    const stalled = (text: string) => ({ body: chatChunk({ content: text }), stallAfterBytes: 1e6 });
    const spawn = (task: string) =>
      call('spawn_agent', { task_name: task, message: 'Work.' }, `call_${task}`).calls ?? [];
    const scripts: Readonly<Record<string, Script>> = {
      [ROOT]: (_, round) => (round === 1 ? { calls: [...spawn('reader'), ...spawn('caller')] } : stalled('I wait')),
      [CHILD]: () => stalled('I read'),
      [CALLER]: () => call('write', { to: 'a.md' }),
    };
    const tools: ToolProvider = {
      name: 'files',
      list: () => [{ server: 'files', name: 'write' }],
      call: () => {
        called.open();
        return never;
      },
    };
    await withTwoProcesses(
      scripts,
      async (app) => {
        const id = await app.begin();
        await called.opened;
        for (const text of ['I wait', 'I read']) await app.logged(id, text);
        const { events, stored } = await app.takeOver(id);
        const begun = events.filter(({ type }) => type === 'response.output_item.added');
        const ended = events.flatMap(({ type, output_index: at, item }) =>
          type === 'response.output_item.done' ? [[at, item] as const] : [],
        );
        expect(ended.toSorted(([one], [other]) => Number(one) - Number(other)).map(([, item]) => item)).toEqual(
          stored.output,
        );
        expect(begun.length).toBe(stored.output.length);
        expect(inShort(stored.output.filter(({ status }) => status === 'incomplete')).toSorted()).toEqual([
          '/root message commentary: I wait',
          '/root/caller mcp_call write',
          '/root/reader message final_answer: I read',
        ]);
      },
      { tools },
    );
  }, 60_000);

  it('[E-13] begins where its process had not begun it', async () => {
    await withTwoProcesses(
      { [ROOT]: delegating, [CHILD]: () => ({ text: 'Read.' }) },
      async ({ begin, takeOver, agents }) => {
        const { stored } = await takeOver(await begin());
        expect([stored.status, new Set(agents)]).toEqual(['completed', new Set([ROOT, CHILD])]);
        expect(JSON.stringify(stored.output.at(-1))).toContain('All is read.');
      },
      { runsAtOnce: false },
    );
  }, 60_000);
});
