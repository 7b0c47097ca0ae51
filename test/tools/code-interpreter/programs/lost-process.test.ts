/** Programs of responses in the background whose process is gone: another one goes on with them, from where the store has them. */

import type { RouterOptions, ToolProvider } from '../../../../src/index.ts';
import type { ProgramRuntime } from '../../../../src/ports/programs/program-runtime.ts';
import type { JsonObject } from '../../../../src/protocol/record.ts';
import { sqliteStore } from '../../../../src/stores/sqlite/sqlite-store.ts';
import { type FakeUpstream, startFakeUpstream } from '../../../../src/testing/index.ts';
import { HandQueue } from '../../../apis/background/hand-engine.ts';
import { calls, providerOf, says } from '../../../engine/tools/support.ts';
import { sqliteDrivers } from '../../../stores/sqlite-drivers.ts';
import { type App, startApp } from '../../../support/app.ts';
import { gate } from '../../../support/gate.ts';
import { post } from '../../../support/responses-client.ts';
import { PATIENCE } from '../support.ts';
import { CRM, type Item, itemsOf, PROGRAMS, provider, type Response, SECRET, STOCK, writes } from './app.ts';

const never = new Promise<never>(() => {});
const TOOLS = [PROGRAMS, STOCK, CRM];

/** Two processes over one store: the first never gets over what `isLost` says, and is taken for gone there. */
interface Processes {
  readonly fake: FakeUpstream;
  /** What the host's tools were called with, in both. */
  readonly ran: readonly JsonObject[];
  /** Begins a response on the first, hands it to the second where the first is lost, and returns how it ended. */
  lost(body: JsonObject): Promise<Response>;
  /** Runs one on the first alone. */
  whole(body: JsonObject): Promise<Response>;
}

/** Where the first process is lost: in a call of the tool `send`, or where its program begins the so many-th time. */
type Loss = { readonly call: 'send'; readonly isRepeatable?: boolean } | { readonly begin: number };

async function withProcesses(loss: Loss, run: (processes: Processes) => Promise<void>, options: RouterOptions = {}) {
  const fake = await startFakeUpstream();
  const queue = new HandQueue();
  const database = sqliteDrivers[0]?.open?.(':memory:');
  if (!database) throw new Error('No SQLite.');
  const store = sqliteStore({ database });
  const ran: JsonObject[] = [];
  const reached = gate();
  let begun = 0;
  const apps: App[] = [];
  const start = async (isFirst: boolean) => {
    const reach = async () => {
      reached.open();
      if (isFirst) await never;
    };
    const crm: ToolProvider = providerOf('crm', ['find', 'send'], async ({ name, arguments: args }) => {
      ran.push({ name, ...args });
      if ('call' in loss && name === loss.call && isFirst) await reach();
      return { content: JSON.stringify({ name, n: args.n }) };
    });
    const isRepeatable = 'call' in loss && loss.isRepeatable === true;
    const annotated: ToolProvider = {
      ...crm,
      list: async (...given) =>
        (await crm.list(...given)).map((tool) => ({ ...tool, annotations: { idempotentHint: isRepeatable } })),
    };
    const { programs } = provider as ToolProvider & { readonly programs: ProgramRuntime };
    const stopping: ProgramRuntime = {
      begin: async (...given) => {
        begun += isFirst ? 1 : 0;
        if ('begin' in loss && isFirst && begun === loss.begin) await reach();
        return programs.begin(...given);
      },
    };
    const app = await startApp({
      upstream: fake,
      options: {
        ...{ store, secret: SECRET, scope: () => 'one', logger: false, background: { engine: queue.engine() } },
        tools: [{ ...provider, programs: stopping }, annotated],
        ...options,
        limits: { turns: { durationMs: 30_000 }, ...options.limits },
      },
    });
    apps.push(app);
    return app;
  };
  const first = await start(true);
  const second = await start(false);
  const settled = async (id: string): Promise<Response> => {
    await (await fetch(`${second.url}/responses/${id}?stream=true`)).text();
    // The cast: a stored response.
    return (await (await fetch(`${second.url}/responses/${id}`)).json()) as Response;
  };
  const begin = async (body: JsonObject) => {
    const { status, text } = await post(first.url, { tools: TOOLS, background: true, ...body });
    if (status !== 200) throw new Error(`${status} ${text}`);
    return String(JSON.parse(text).id);
  };
  try {
    await run({
      ...{ fake, ran },
      async lost(body) {
        const id = await begin(body);
        await reached.opened;
        await queue.hand(1, { scope: 'one', id }).outcome;
        return settled(id);
      },
      whole: async (body) => settled(await begin(body)),
    });
  } finally {
    await Promise.all(apps.map((app) => app.router.drain({ timeoutMs: 1 }).then(() => app.close())));
    await fake.close();
    database.close();
  }
}

const shapeOf = ({ output }: Response) =>
  output.filter(({ type }) => type !== 'mcp_list_tools').map(({ type, name, status }) => [type, name, status]);

const CODE = `
  const { n } = await tools.find({ n: 1 });
  let sent = 'not sent';
  try { sent = (await tools.send({ n })).name } catch (error) { text(error.message) }
  const more = await tools.find({ n: 2 });
  text({ sent, more: more.n });`;

describe('a program whose process is gone', () => {
  it.each([
    ['learns that a call is lost that may not be made twice', false],
    ['makes a call again that may be made twice', true],
  ])(
    '[E-12] goes on in another process, and %s',
    async (_, isRepeatable) => {
      await withProcesses({ call: 'send', isRepeatable }, async ({ fake, ran, lost }) => {
        fake.reply(writes(CODE), says('Done.'));
        const response = await lost({});
        expect(shapeOf(response)).toEqual([
          ['program', undefined, undefined],
          ['mcp_call', 'find', 'completed'],
          ['mcp_call', 'send', isRepeatable ? 'completed' : 'failed'],
          ['mcp_call', 'find', 'completed'],
          ['program_output', undefined, 'completed'],
          ['message', undefined, 'completed'],
        ]);
        expect(itemsOf(response, 'program_output')[0]?.result).toMatch(
          isRepeatable
            ? /^\{"sent":"send","more":2\}$/
            : /was lost before the result[^\n]*\n\{"sent":"not sent","more":2\}$/,
        );
        expect(ran.map(({ name }) => name)).toEqual(['find', 'send', ...(isRepeatable ? ['send'] : []), 'find']);
        expect(fake.requests.length).toBe(2);
      });
    },
    PATIENCE,
  );

  it.each(['mcp_call', 'function_call'] as const)(
    '[E-12] makes no more calls than max_tool_calls in all its processes together, shown as %s',
    async (toolCalls) => {
      const run = async ({ fake, ran, lost }: Processes) => {
        const code =
          'for (const name of ["send", "find", "find", "find"]) try { await tools[name]({ n: 1 }) } catch {}';
        fake.reply(writes(code), says('Done.'));
        const response = await lost({ max_tool_calls: 3 });
        expect([response.status, response.incomplete_details]).toEqual(['incomplete', { reason: 'max_tool_calls' }]);
        // The program is the third.
        expect(ran.map(({ name }) => name)).toEqual(['send', 'find']);
      };
      await withProcesses({ call: 'send' }, run, { show: { toolCalls } });
    },
    PATIENCE,
  );

  it(
    '[E-12] begins again where it had called nothing',
    async () => {
      await withProcesses({ begin: 1 }, async ({ fake, ran, lost }) => {
        fake.reply(writes(CODE), says('Done.'));
        const response = await lost({});
        expect(shapeOf(response).map(([type]) => type)).toEqual([
          ...['program', 'mcp_call', 'mcp_call', 'mcp_call', 'program_output', 'message'],
        ]);
        expect([ran.map(({ name }) => name), fake.requests.length]).toEqual([['find', 'send', 'find'], 2]);
      });
    },
    PATIENCE,
  );

  it.each([
    ['before it is begun again', { begin: 2 }],
    ['in a call', { call: 'send', isRepeatable: true }],
  ] as const)(
    '[E-12] goes on with what the client has answered, and ends once, where it is lost %s',
    async (_, loss) => {
      await withProcesses(loss, async ({ fake, ran, whole, lost }) => {
        const code = `
          const { units } = await tools.get_stock({ sku: 'x' });
          const { n } = await tools.send({ n: units });
          text({ n });`;
        fake.reply(writes(code), says('Done.'));
        const first = await whole({});
        const [call] = itemsOf(first, 'function_call');
        const { call_id, caller } = call as Item;
        const answer = { type: 'function_call_output', call_id, caller, output: '{"units":7}' };
        const second = await lost({ previous_response_id: first.id, input: [answer] });
        expect(shapeOf(second)).toEqual([
          ['mcp_call', 'send', 'completed'],
          ['program_output', undefined, 'completed'],
          ['message', undefined, 'completed'],
        ]);
        expect(itemsOf(second, 'program_output')[0]?.result).toBe('{"n":7}');
        expect(ran.map(({ name }) => name)).toEqual('begin' in loss ? ['send'] : ['send', 'send']);
        expect(fake.requests.length).toBe(2);
      });
    },
    PATIENCE,
  );
});

it.each([
  ['of the model', [calls(['call_1', 'send', '{"n":1}']), says('Done.')], 'mcp_call'],
  ['of a program', [writes('text((await tools.send({ n: 1 })).name);'), says('Done.')], 'program_output'],
])(
  '[E-12] [S-18] what the user has approved goes on in another process: a call %s',
  async (_, script, type) => {
    const options = { approval: ({ name }: { readonly name: string }) => name === 'send' };
    const run = async ({ fake, ran, lost, whole }: Processes) => {
      fake.reply(...script);
      const tools = [PROGRAMS, { ...CRM, allowed_callers: ['direct', 'programmatic'] }];
      const first = await whole({ tools });
      const input = itemsOf(first, 'mcp_approval_request').map(({ id }) => {
        return { type: 'mcp_approval_response', approval_request_id: id, approve: true };
      });
      const response = await lost({ tools, previous_response_id: first.id, input });
      expect([response.status, response.error, itemsOf(response, type).length]).toEqual(['completed', null, 1]);
      expect(ran).toEqual(Array(2).fill({ name: 'send', n: 1 }));
    };
    await withProcesses({ call: 'send', isRepeatable: true }, run, options);
  },
  PATIENCE,
);
