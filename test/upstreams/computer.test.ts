/** A computer that the client uses for a model of another server of the Responses API. */

import { Steering } from '../../src/hosts/websocket/steering.ts';
import { memoryStore, type RouterOptions } from '../../src/index.ts';
import type { TurnEnd } from '../../src/protocol/events.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import {
  type FakeReply,
  type FakeRequest,
  type FakeResponder,
  type FakeUpstream,
  startFakeUpstream,
} from '../../src/testing/index.ts';
import { responsesUpstream } from '../../src/upstreams/responses/responses-upstream.ts';
import { askJson } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';
import { eventStream } from '../support/replay.ts';
import { askForJson } from '../support/responses-client.ts';
import { callItem, item, responsesStream, textItem } from './responses-bytes.ts';

const answering = (...items: readonly string[]): FakeReply => eventStream(responsesStream(items));
const DONE = answering(textItem(0, 'Done.'));

let fake: FakeUpstream;
let app: App;
let notes: string[];

async function start(options: RouterOptions = {}, reply: FakeResponder = DONE): Promise<void> {
  notes = [];
  fake = await startFakeUpstream({ reply });
  app = await startApp({
    options: {
      upstream: responsesUpstream({ baseURL: fake.baseURL, retries: 0 }),
      store: memoryStore(),
      hooks: { onError() {}, onNote: ({ code }) => void notes.push(code) },
      ...options,
    },
  });
}

afterEach(() => Promise.all([app.close(), fake.close()]));

const sent = (at = -1) => fake.requests.at(at)?.body as JsonObject;
const input = (at = -1) => sent(at).input as readonly JsonObject[];
const shape = (items: readonly JsonObject[]) =>
  items.map(({ type, role, call_id }) => [type, role ?? call_id].filter(Boolean).join(' '));

const COMPUTER = { type: 'computer_use_preview', display_width: 1024, display_height: 768, environment: 'linux' };
const CHECK = { id: 'cu_sc_1', code: 'malicious_instructions', message: 'Look out.' };
const click = (call_id: string, checks: readonly JsonObject[] = []) =>
  item(
    0,
    {
      id: `cu_${call_id}`,
      type: 'computer_call',
      status: 'completed',
      call_id,
      action: { type: 'click', button: 'left', x: 1, y: 2 },
      pending_safety_checks: checks,
    },
    { status: 'in_progress' },
  );
const screenshot = (call_id: string, bytes = 10) => ({
  type: 'computer_call_output',
  call_id,
  output: { type: 'computer_screenshot', image_url: `data:image/png;base64,${'A'.repeat(bytes)}` },
});

describe('a computer that the client uses', () => {
  it('[V-41] [S-14] has its call kept by a compaction until its screenshot has come', async () => {
    await start();
    const managed = {
      instructions: 'word '.repeat(1200),
      context_management: [{ type: 'compaction', compact_threshold: 1000 }],
    };
    fake.reply(answering(click('call_1')), answering(textItem(0, 'A summary.')), DONE);
    const first = await askForJson(app.url, { ...managed, tools: [COMPUTER] });
    await askForJson(app.url, { tools: [COMPUTER], previous_response_id: first.id, input: [screenshot('call_1')] });
    expect(shape(input())).toEqual(['message user', 'computer_call call_1', 'computer_call_output call_1']);
  });

  it('[V-41] [S-14] is in the summary of a conversation, with what it showed', async () => {
    await start();
    fake.reply(answering(click('call_1')), answering(textItem(0, 'Bought.')), answering(textItem(0, 'A summary.')));
    const first = await askForJson(app.url, { tools: [COMPUTER] });
    const shown = screenshot('call_1');
    const { id } = await askForJson(app.url, { tools: [COMPUTER], previous_response_id: first.id, input: [shown] });
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', previous_response_id: id });
    await fetch(`${app.url}/responses/compact`, { method: 'POST', headers, body });
    const summarised = JSON.stringify(input());
    expect(summarised).toContain('[Used the computer: {\\"type\\":\\"click\\"');
    expect(summarised).toContain(JSON.stringify({ type: 'input_image', image_url: shown.output.image_url }));
  });

  it('[V-41] [O-08] never has a screenshot without its call where the oldest rounds are left out', async () => {
    await start();
    const message = 'Your input exceeds the context window of this model.';
    const refused = { status: 400, body: JSON.stringify({ error: { message, code: 'context_length_exceeded' } }) };
    fake.reply(refused, DONE);
    const call = (call_id: string, action: JsonObject = { type: 'screenshot' }) => ({
      ...{ id: `cu_${call_id}`, type: 'computer_call', status: 'completed', call_id, action },
      pending_safety_checks: [],
    });
    await askForJson(app.url, {
      tools: [COMPUTER],
      truncation: 'auto',
      input: [
        { role: 'user', content: 'Buy it.' },
        ...[call('call_a'), screenshot('call_a')],
        ...[call('call_b', { type: 'type', text: 'x'.repeat(20_000) }), screenshot('call_b')],
        ...[call('call_c'), screenshot('call_c')],
      ],
    });
    expect(shape(input())).toEqual(['message user', 'computer_call call_c', 'computer_call_output call_c']);
  });

  const FUNCTION = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } };
  const allowed = (mode: string, tool: JsonObject) => ({ type: 'allowed_tools', mode, tools: [tool] });

  it.each<[JsonObject, JsonObject]>([
    [{ type: 'computer_use_preview' }, COMPUTER],
    [{ type: 'computer_use' }, { type: 'computer' }],
    [allowed('auto', { type: 'computer_use_preview' }), COMPUTER],
    [allowed('required', { type: 'computer' }), { type: 'computer' }],
  ])('[V-41] [O-05] may be used where the choice of tools names it: %j', async (tool_choice, tool) => {
    await start();
    fake.reply(answering(click('call_1', [CHECK])));
    const { output } = await askJson(app.url, { tools: [tool, FUNCTION], tool_choice });
    expect(output).toMatchObject([{ type: 'computer_call', call_id: 'call_1', pending_safety_checks: [CHECK] }]);
    expect(notes).toEqual([]);
  });

  it.each(['none', allowed('auto', FUNCTION)])('[V-41] [O-05] may not be used otherwise: %j', async (tool_choice) => {
    await start();
    fake.reply(answering(click('call_1')), DONE);
    const { output } = await askJson(app.url, { tools: [COMPUTER, FUNCTION], tool_choice });
    expect(output).toMatchObject([{ type: 'message' }]);
  });

  it('[V-41] goes back with its screenshot, also without an id', async () => {
    await start();
    const call = {
      type: 'computer_call',
      call_id: 'call_1',
      action: { type: 'screenshot' },
      pending_safety_checks: [],
    };
    const shown = { ...screenshot('call_1'), acknowledged_safety_checks: [CHECK] };
    await askForJson(app.url, { tools: [COMPUTER], input: [{ role: 'user', content: 'Look.' }, call, shown] });
    expect(input().slice(1)).toMatchObject([call, shown]);
    expect(notes).toEqual([]);
  });

  it('[V-41] [X-13] is named among what a steer waits for', async () => {
    const steering = new Steering(1000);
    steering.begin('resp_1', undefined, {});
    steering.steer({ steered: 'resp_1', input: 'Stop.', bytes: 10 });
    const output = [{ id: 'cu_1', type: 'computer_call', status: 'completed', call_id: 'call_1' }];
    // The cast: nothing else is read of the end of a turn.
    const { events } = steering.end('resp_1', { status: 'completed', output } as unknown as TurnEnd);
    expect(events).toMatchObject([
      { event: { required_input: [{ type: 'computer_call_output', call_id: 'call_1' }] } },
    ]);
  });

  it('[V-41] [E-13] is used by an agent, which goes on with its own screenshot', async () => {
    const action = (call_id: string, name: string, json: JsonObject) =>
      answering(callItem(0, call_id, name, JSON.stringify(json)));
    const several = { tools: [COMPUTER], multi_agent: { enabled: true } };
    const extra = { headers: { 'openai-beta': 'responses_multi_agent=v1' } };
    const reply = (request: FakeRequest): FakeReply => {
      const { instructions, input } = request.body as { instructions: string; input: readonly JsonObject[] };
      const last = input.at(-1);
      if (instructions.includes('/root/buyer'))
        return last?.type === 'computer_call_output' ? answering(textItem(0, 'Bought.')) : answering(click('call_1'));
      if (JSON.stringify(last).includes('Bought.')) return DONE;
      return input.some(({ type }) => type === 'function_call')
        ? action(`call_${input.length}`, 'wait_agent', {})
        : action('call_s', 'spawn_agent', { task_name: 'buyer', message: 'Buy it.', fork_turns: 'none' });
    };
    await start({ multiAgent: true }, reply);
    const first = await askJson(app.url, several, extra);
    const second = await askJson(
      app.url,
      { ...several, previous_response_id: first.id, input: [screenshot('call_1')] },
      extra,
    );
    expect(JSON.stringify(second.output)).toContain('Bought.');
  });
});
