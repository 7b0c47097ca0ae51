/** Clients as they are: OpenAI's SDK, its agents SDK, and the messages that Codex sends. */

import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI6 from 'openai';
import { ResponsesWS as ResponsesWS6 } from 'openai/resources/responses/ws';
import OpenAI from 'openai7';
import type { ResponsesServerEvent } from 'openai7/resources/responses/responses';
import { ResponsesWS } from 'openai7/resources/responses/ws';
import type { JsonObject } from '../../src/protocol/record.ts';
import { textStream, toolCallStream } from '../../src/testing/index.ts';
import { finalOf, type Message, outcomeOf, type SocketApp, startSocketApp } from '../hosts/websocket/support.ts';
import { describeShared, readShared } from '../support/shared.ts';

let app: SocketApp;
/** What the server was asked for: posts, and connections. */
let requested: string[];

beforeEach(async () => {
  app = await startSocketApp();
  requested = [];
  app.server
    .on('upgrade', () => requested.push('upgrade'))
    .on('request', ({ method }) => requested.push(String(method)));
});
afterEach(() => app.close());

const CALL = { id: 'call_1', name: 'look', arguments: '{}' };

const CLIENT = { apiKey: 'client-key', maxRetries: 0 };

/** Both majors send and receive the same; the cast: their types have the same names in two packages. */
const MAJORS: readonly (readonly [number, () => ResponsesWS])[] = [
  [6, () => new ResponsesWS6(new OpenAI6({ ...CLIENT, baseURL: app.url })) as unknown as ResponsesWS],
  [7, () => new ResponsesWS(new OpenAI({ ...CLIENT, baseURL: app.url }))],
];

describe.each(MAJORS)('the ResponsesWS of openai %i', (_, connect) => {
  /** The events up to the end of a response. */
  function response(ws: ResponsesWS): Promise<readonly ResponsesServerEvent[]> {
    const events: ResponsesServerEvent[] = [];
    return new Promise((resolve, reject) => {
      const receive = (event: ResponsesServerEvent) => {
        events.push(event);
        if (event.type !== 'response.completed') return;
        ws.off('event', receive);
        resolve(events);
      };
      ws.on('event', receive);
      ws.once('error', reject);
    });
  }

  it('[S-15] finds the endpoint from the base URL, sends its key, and receives each event by its type', async () => {
    const ws = connect();
    const deltas: string[] = [];
    ws.on('response.output_text.delta', ({ delta }) => deltas.push(delta));
    const events = response(ws);
    ws.send({ type: 'response.create', model: 'fake-model', input: 'Hi' });
    const last = (await events).at(-1);
    ws.close();
    const id = last?.type === 'response.completed' ? last.response.id : '';
    const stored = await fetch(`${app.url}/responses/${id}`, { headers: { authorization: 'Bearer client-key' } });
    expect([deltas, stored.status]).toEqual([['Hello!'], 200]);
  });

  it('[S-15] continues what is not stored, and receives what is wrong as an error', async () => {
    const ws = connect();
    const first = response(ws);
    ws.send({ type: 'response.create', model: 'fake-model', input: 'One.', store: false });
    const end = (await first).at(-1);
    const id = end?.type === 'response.completed' ? end.response.id : '';
    const second = response(ws);
    ws.send({ type: 'response.create', model: 'fake-model', input: 'Two.', store: false, previous_response_id: id });
    await second;
    const reported = new Promise<{ readonly error?: unknown }>((resolve) => ws.once('error', resolve));
    ws.send({ type: 'response.create', model: 'fake-model', input: 'x', previous_response_id: 'resp_unknown' });
    const { error } = await reported;
    ws.close();
    expect([app.requested().map(({ content }) => content), error]).toEqual([
      ['One.', 'Hello!', 'Two.'],
      expect.objectContaining({ status: 400, error: expect.objectContaining({ code: 'previous_response_not_found' }) }),
    ]);
  });
});

describe('the agents SDK over its WebSocket', () => {
  it('[S-15] runs a tool, and continues a response, all on one connection', async () => {
    app.fake.reply(
      { body: toolCallStream([CALL]) },
      { body: textStream('A tree.') },
      { body: textStream('Still a tree.') },
    );
    const script = join(import.meta.dirname, 'websocket-agents.mjs');
    // Node 20 has a global WebSocket only with a flag.
    const { stdout } = await promisify(execFile)(process.execPath, ['--experimental-websocket', script], {
      env: { ...process.env, BASE_URL: app.url },
      timeout: 15_000,
    });
    expect([JSON.parse(stdout), requested, app.requested().map(({ role }) => role)]).toEqual([
      ['A tree.', 'Still a tree.'],
      ['upgrade'],
      ['system', 'user', 'assistant', 'tool', 'assistant', 'user'],
    ]);
  });
});

describeShared('Codex', () => {
  const recorded = (turn: string): JsonObject =>
    JSON.parse(readShared(`clients/codex-ws.tool.responses.stream${turn}.json`)).body;

  it('[S-15] warms up, continues with nothing stored, and gives back its tool’s result', async () => {
    app.fake.reply(
      { body: toolCallStream([{ ...CALL, name: 'exec_command', arguments: '{"cmd":"true"}' }]) },
      { body: textStream('Done.') },
    );
    const talk = await app.connect({ headers: { 'openai-beta': 'responses_websockets=2026-02-06' } });
    const warm = await talk.ask(recorded(''));
    const user = { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Run it.' }] };
    const { generate, ...settings } = recorded('');
    const called = await talk.ask({ ...settings, previous_response_id: finalOf(warm).id, input: [user] });
    const [call] = finalOf(called).output as readonly Message[];
    const [output] = recorded('.turn2').input as readonly [JsonObject];
    const done = await talk.ask({
      ...recorded('.turn2'),
      previous_response_id: finalOf(called).id,
      input: [{ ...output, call_id: call?.call_id }],
    });
    const roles = app.requested().map(({ role }) => role);
    expect([generate, finalOf(warm).output, call?.name, outcomeOf(done), roles.slice(-3)]).toEqual([
      false,
      [],
      'exec_command',
      'completed',
      ['user', 'assistant', 'tool'],
    ]);
    expect([app.fake.requests.length, roles.slice(0, -3).every((role) => role !== 'assistant')]).toEqual([2, true]);
  });
});
