/** Programs and several agents on nodes that are killed: another node goes on with a program, and says that agents are lost. */
import type { JsonObject } from '../../src/protocol/record.ts';
import { textStream, toolCallStream } from '../../src/testing/index.ts';
import { ask, parsed } from '../http/client.ts';
import { eventually } from './cluster.ts';
import { agreedOn, begun, callsOf, onEachDatabase, settled, textsOf, type World } from './world.ts';

const CALLERS = { allowed_callers: ['programmatic'] };
const TOOLS = [
  { type: 'programmatic_tool_calling' },
  { type: 'mcp', server_label: 'lab', ...CALLERS },
  { type: 'function', name: 'count', parameters: { type: 'object', properties: {} }, ...CALLERS },
];

const call = (name: string, args: JsonObject) => ({
  body: toolCallStream([{ id: `call_${name}`, name, arguments: JSON.stringify(args) }]),
});
const writes = (code: string) => call('programmatic_tool_calling', { code });
const DONE = { body: textStream('Done') };

const itemsOf = ({ output }: JsonObject, type: string) =>
  // The cast: the output of a response.
  (output as readonly JsonObject[]).filter((item) => item.type === type);

/** Stops the node of the response before it does this, and kills it there. */
async function killedAt({ cluster, control }: World, what: string, begin: () => Promise<string>): Promise<string> {
  const before = control.count(what);
  control.stopNext(what);
  const id = await begin();
  const owner = await cluster.ownerOf(id);
  await eventually(what, () => control.count(what) > before || undefined);
  await owner.kill();
  await cluster.endOf(id, owner);
  return id;
}

onEachDatabase(
  'On nodes that are killed',
  (world) => {
    it.each([
      ['once', 'failed', /was lost before the result/],
      ['again', 'completed', /^did tool\/again$/],
    ])('[E-12] a program goes on elsewhere after kill -9 in its call of %s', async (name, status, result) => {
      const { cluster, model, control } = world;
      const code = `text(await tools.${name}().catch((error) => error.message)); await tools.again();`;
      model.say(writes(code), DONE);
      const ran = control.count('tool/once');
      const id = await killedAt(world, `tool/${name}`, () => begun(cluster.without()[0], { tools: TOOLS }));
      const { response } = await agreedOn(cluster, id);
      expect([response.status, textsOf(response), callsOf(response).map((each) => each.slice(0, 2))]).toEqual([
        'completed',
        ['Done'],
        [
          [name, status],
          ['again', 'completed'],
        ],
      ]);
      expect(itemsOf(response, 'program_output')).toMatchObject([
        { status: 'completed', result: expect.stringMatching(result) },
      ]);
      expect([control.count('tool/once') - ran, model.asked]).toEqual([name === 'once' ? 1 : 0, 2]);
    });

    it('[E-12] a program that waits for its client goes on elsewhere after kill -9, and calls nothing twice', async () => {
      const { cluster, model, control } = world;
      const code = 'await tools.once(); const { n } = await tools.count(); await tools.again(); text(n + 1);';
      model.say(writes(code), DONE);
      const ran = control.count('tool/once');
      const [one, other] = cluster.nodes;
      if (!one || !other) throw new Error('There are no two nodes.');
      const asked = async (url: string, body: JsonObject) =>
        parsed(await (await ask(url, { tools: TOOLS, ...body })).text());
      const first = await asked(one.url, {});
      const [{ call_id, caller }] = itemsOf(first, 'function_call') as [JsonObject];
      await one.kill();
      const output = { type: 'function_call_output', call_id, caller, output: '{"n":41}' };
      const second = await asked(other.url, { previous_response_id: first.id, input: [output] });
      expect(itemsOf(second, 'program_output')).toMatchObject([{ status: 'completed', result: '42' }]);
      expect([callsOf(first), callsOf(second).map(([name]) => name)]).toEqual([
        [['once', 'completed', 'did tool/once']],
        ['again'],
      ]);
      expect([textsOf(second), control.count('tool/once') - ran, model.asked]).toEqual([['Done'], 1, 2]);
    });

    it('[E-13] a response of several agents fails after kill -9, and nothing runs twice', async () => {
      const { cluster, model, control } = world;
      model.say(
        call('spawn_agent', { task_name: 'reader', message: 'Read.' }),
        call('once', {}),
        call('once', {}),
        DONE,
      );
      const ran = control.count('tool/once');
      const body = { multi_agent: { enabled: true } };
      const id = await killedAt(world, 'tool/once', async () => {
        const response = await fetch(`${cluster.without()[0].url}/responses`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'openai-beta': 'responses_multi_agent=v1' },
          body: JSON.stringify({ model: 'm', input: 'Hi', background: true, ...body }),
        });
        return String(parsed(await response.text()).id);
      });
      const response = await settled(cluster.without()[0], id);
      expect([response.status, JSON.stringify(response.error)]).toEqual([
        'failed',
        expect.stringContaining('The process that ran the agents of this response was lost.'),
      ]);
      expect(control.count('tool/once') - ran).toBeLessThanOrEqual(2);
    });
  },
  { nodes: 2, hasPrograms: true },
);
