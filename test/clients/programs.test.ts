/** Programs as OpenAI's agents SDKs ask for them, in both languages: the replenishment plan of their examples, over any model. */
import { Agent, OpenAIProvider, programmaticToolCallingTool, Runner, tool } from '@openai/agents';
import { z } from 'zod';
import type { ToolProvider } from '../../src/ports/tool-provider.ts';
import { programs } from '../../src/tools/code-interpreter/index.ts';
import { calls, says, type ToolsApp, withTools } from '../engine/tools/support.ts';
import { pythonPackage } from '../support/python-package.ts';
import { PATIENCE } from '../tools/code-interpreter/support.ts';
import { ended, lastSent } from './hosted-tools.ts';
import { type PythonClient, startPythonClient } from './python-client.ts';

const python = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });

const UNITS: Readonly<Record<string, readonly [stock: number, demand: number, inbound: number]>> = {
  lamp: [12, 18, 4],
  keyboard: [7, 16, 2],
  dock: [22, 14, 0],
};

/** What a model writes for the plan: nine calls at once. */
const PLAN = `
const skus = ['lamp', 'keyboard', 'dock'];
const calls = skus.flatMap((sku) => [tools.get_inventory({ sku }), tools.get_weekly_demand({ sku }), tools.get_inbound_units({ sku })]);
const results = await Promise.all(calls);
const recommendations = skus
  .map((sku, at) => {
    const [{ units: stock }, { units: demand }, { units: inbound }] = results.slice(3 * at, 3 * at + 3);
    return { sku, reorderUnits: Math.max(demand + 5 - stock - inbound, 0) };
  })
  .filter(({ reorderUnits }) => reorderUnits > 0)
  .sort((one, other) => other.reorderUnits - one.reorderUnits);
text({ recommendations, totalReorderUnits: recommendations.reduce((sum, { reorderUnits }) => sum + reorderUnits, 0) });`;

const LOOKS = ['get_inventory', 'get_weekly_demand', 'get_inbound_units'];

/** What the program makes of the table. */
const RECOMMENDED = {
  recommendations: [
    { sku: 'keyboard', reorderUnits: 12 },
    { sku: 'lamp', reorderUnits: 7 },
  ],
  totalReorderUnits: 19,
};
const ANSWER = 'Reorder keyboards and lamps.';

/** The model writes the program, and answers with what that gave. */
function scriptPlan({ fake }: ToolsApp): void {
  fake.reply(calls(['call_p', 'programmatic_tool_calling', JSON.stringify({ code: PLAN })]), says(ANSWER));
}

let provider: ToolProvider;
beforeAll(() => {
  provider = programs();
});
afterAll(() => provider.close?.());

describe('@openai/agents', () => {
  it.each([false, true])(
    '[E-12] runs the plan of its example, streamed: %s',
    async (stream) => {
      await withTools({ tools: provider }, async (app) => {
        scriptPlan(app);
        const ran: string[] = [];
        const look = (name: string, at: number) =>
          tool({
            name,
            description: `Returns ${name} of one SKU.`,
            parameters: z.object({ sku: z.string() }),
            allowedCallers: ['programmatic'],
            outputSchema: z.object({ units: z.number() }),
            execute: async ({ sku }) => {
              ran.push(`${name} ${sku}`);
              return { units: UNITS[sku]?.[at] ?? 0 };
            },
          });
        const agent = new Agent({
          name: 'planner',
          model: 'm',
          modelSettings: { toolChoice: 'programmatic_tool_calling' },
          tools: [...LOOKS.map(look), programmaticToolCallingTool()],
        });
        const modelProvider = new OpenAIProvider({ apiKey: 'client-key', baseURL: app.url, useResponses: true });
        const runner = new Runner({ modelProvider, tracingDisabled: true });
        const result = await ended(runner, agent, 'What do we reorder?', stream);
        expect([ran.length, new Set(ran).size, result.finalOutput, app.fake.requests.length]).toEqual([
          9,
          9,
          ANSWER,
          2,
        ]);
        expect(JSON.parse(String(lastSent(app)[0]))).toEqual(RECOMMENDED);
      });
    },
    PATIENCE,
  );
});

python.describe('openai-agents', () => {
  let client: PythonClient;
  beforeAll(() => {
    client = startPythonClient(python.python, 'programs_client.py');
  });
  afterAll(() => client.close());

  it.each([false, true])(
    '[E-12] runs the plan of its example, streamed: %s',
    async (stream) => {
      await withTools({ tools: provider }, async (app) => {
        scriptPlan(app);
        const units = Object.fromEntries(
          LOOKS.map((name, at) => [
            name,
            Object.fromEntries(Object.entries(UNITS).map(([sku, all]) => [sku, all[at]])),
          ]),
        );
        const scene = { url: app.url, scene: 'plan', question: 'What do we reorder?', units, stream };
        const { ran, final, items } = await client.run(scene);
        const each = LOOKS.flatMap((name) => Object.keys(UNITS).map((sku) => `${name} ${sku}`));
        // The cast: the script prints names.
        expect([(ran as readonly string[]).toSorted(), final, app.fake.requests.length]).toEqual([
          each.toSorted(),
          ANSWER,
          2,
        ]);
        expect(items).toEqual([
          'tool_call_item',
          ...Array(9).fill('tool_call_item'),
          ...Array(9).fill('tool_call_output_item'),
          'tool_call_output_item',
          'message_output_item',
        ]);
        expect(JSON.parse(String(lastSent(app)[0]))).toEqual(RECOMMENDED);
      });
    },
    PATIENCE,
  );
});
