/** Input for a response that runs: it is accepted at once, and the next response goes on with it. */

import { functionTools } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { textStream, toolCallStream } from '../../../src/testing/index.ts';
import { type Gate, gate } from '../../support/gate.ts';
import { finalOf, type Message, type SocketApp, type SocketAppSetup, startSocketApp, type Talk } from './support.ts';

let app: SocketApp;
afterEach(() => app.close());

const LOOK = { id: 'call_1', name: 'look', arguments: '{}' };

/** An app whose tool `look` runs until the gate opens. */
async function startLooking(options: SocketAppSetup = {}): Promise<{ readonly talk: Talk; readonly done: Gate }> {
  const done = gate();
  const tools = functionTools({ look: { execute: () => done.opened.then(() => 'Seen.') } });
  app = await startSocketApp({ tools, ...options });
  app.fake.reply({ body: toolCallStream([LOOK]) }, { body: textStream('Well.') });
  return { talk: await app.connect(), done };
}

/** The stream, a chunk at a time. */
function slowly(stream: string) {
  return { body: stream.split(/(?<=\n\n)/), paceMs: 100 };
}

/** The id of the response that begins now. */
async function begun(talk: Talk): Promise<string> {
  for (;;) {
    const message = await talk.next();
    if (message.type === 'response.created') return (message.response as { readonly id: string }).id;
  }
}

async function until(talk: Talk, type: string): Promise<Message> {
  for (;;) {
    const message = await talk.next();
    if (message.type === type) return message;
  }
}

function steer(talk: Talk, id: string, input: unknown = 'In French.', more: JsonObject = {}): void {
  talk.send(JSON.stringify({ type: 'response.steer', previous_response_id: id, input, ...more }));
}

/** Steers the response whose tool runs, lets the tool end, and returns the response that goes on with the input. */
async function steered(talk: Talk, done: Gate): Promise<JsonObject> {
  const id = await begun(talk);
  await until(talk, 'response.mcp_call.in_progress');
  steer(talk, id);
  await until(talk, 'response.steer.accepted');
  done.open();
  await talk.response();
  return finalOf(await talk.response());
}

/** The texts of the conversation in the last request to the model. */
function conversation(): readonly unknown[] {
  return app.requested().map(({ role, content }) => `${role} ${content}`);
}

const failure = (code: string) => expect.objectContaining({ type: 'invalid_request_error', code });

describe('response.steer', () => {
  it('[X-13] ends the response after its tools, and the next one goes on with the input', async () => {
    const { talk, done } = await startLooking();
    talk.create({ instructions: 'Be short.', stream_id: 'a' });
    const id = await begun(talk);
    await until(talk, 'response.mcp_call.in_progress');
    steer(talk, id);
    const accepted = await until(talk, 'response.steer.accepted');
    done.open();
    const first = finalOf(await talk.response());
    const next = await talk.response('a');
    expect([accepted, first.status, first.incomplete_details, finalOf(next).previous_response_id]).toEqual([
      {
        type: 'response.steer.accepted',
        sequence_number: 0,
        steer: { id: expect.stringMatching(/^steer_/), previous_response_id: id },
        stream_id: 'a',
      },
      'incomplete',
      { reason: 'steered' },
      id,
    ]);
    expect([next[0]?.type, finalOf(next).status, finalOf(next).instructions, conversation()]).toEqual([
      'response.created',
      'completed',
      'Be short.',
      ['system Be short.', 'user Hi', 'assistant null', 'tool Seen.', 'user In French.'],
    ]);
  });

  it('[X-13] [E-09] goes on with the prompt of the response, whose messages are in its history', async () => {
    const prompts = { city: { instructions: 'You are in {{city}}.', input: [{ role: 'user', content: '{{city}}?' }] } };
    const { talk, done } = await startLooking({ prompts });
    talk.create({ prompt: { id: 'city', variables: { city: 'Oslo' } } });
    const { prompt, instructions } = await steered(talk, done);
    expect([prompt, instructions, conversation()]).toEqual([
      { id: 'city', version: null, variables: { city: 'Oslo' } },
      'You are in Oslo.',
      ['system You are in Oslo.', 'user Oslo?', 'user Hi', 'assistant null', 'tool Seen.', 'user In French.'],
    ]);
  });

  it.each([
    ['allowed_tools', { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'look' }] }],
    ['a server', { type: 'mcp', server_label: 'functions' }],
  ])('[O-05] goes on with the same tools forbidden: %s', async (_, choice) => {
    const { talk, done } = await startLooking();
    app.fake.reply(
      { body: toolCallStream([LOOK]) },
      { body: toolCallStream([{ ...LOOK, name: 'ask' }]) },
      { body: textStream('Well.') },
    );
    talk.create({ tools: [{ type: 'function', name: 'ask' }], tool_choice: choice });
    const { output } = await steered(talk, done);
    expect((output as readonly JsonObject[]).map(({ type }) => type)).toEqual(['message']);
  });

  it('[X-13] lets a response without tools end as it would, and several inputs follow it in their order', async () => {
    app = await startSocketApp();
    app.fake.reply(slowly(textStream(['One', ' two'])), { body: textStream('Trois.') });
    const talk = await app.connect();
    talk.create();
    const id = await begun(talk);
    steer(talk, id, 'In French.');
    steer(talk, id, [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'And short.' }] }]);
    const first = finalOf(await talk.response());
    const next = finalOf(await talk.response());
    expect([first.status, next.previous_response_id, conversation()]).toEqual([
      'completed',
      id,
      ['user Hi', 'assistant One two', 'user In French.', 'user And short.'],
    ]);
  });

  it('[X-13] waits for the results of the client’s calls, and goes before them in the next request', async () => {
    app = await startSocketApp();
    app.fake.reply(slowly(toolCallStream([LOOK])), { body: textStream('Done.') });
    const talk = await app.connect();
    const tools = [{ type: 'function', name: 'look', parameters: {} }];
    talk.create({ tools });
    const id = await begun(talk);
    steer(talk, id);
    const { steer: accepted } = await until(talk, 'response.steer.accepted');
    await talk.response();
    const pending = await talk.next();
    const output = { type: 'function_call_output', call_id: 'call_1', output: 'Seen.' };
    const refused = await talk.ask({ tools, previous_response_id: id, input: [output], temperature: 9 });
    const next = finalOf(await talk.ask({ tools, previous_response_id: id, input: [output] }));
    expect([pending, refused.at(-1)?.status, next.status, conversation()]).toEqual([
      {
        type: 'response.steer.pending',
        sequence_number: 1,
        reason: 'waiting_for_required_input',
        required_input: [{ type: 'function_call_output', call_id: 'call_1', name: 'look' }],
        steer: accepted,
      },
      400,
      'completed',
      ['user Hi', 'assistant null', 'tool Seen.', 'user In French.'],
    ]);
  });

  it('[X-13] comes back where the response fails', async () => {
    app = await startSocketApp();
    app.fake.reply({ ...slowly(textStream(['One', ' two'])), cutAfterBytes: 400 });
    const talk = await app.connect();
    talk.create();
    const id = await begun(talk);
    steer(talk, id);
    const { steer: accepted } = await until(talk, 'response.steer.accepted');
    expect([finalOf(await talk.response()).status, await talk.next()]).toEqual([
      'failed',
      {
        type: 'response.steer.failed',
        sequence_number: 1,
        error: failure('response_not_active'),
        steer: { ...(accepted as JsonObject), input: 'In French.' },
      },
    ]);
  });

  it('[X-13] is refused for a response that has ended, is unknown, or belongs to a conversation', async () => {
    const { talk, done } = await startLooking();
    const conversationId = await fetch(`${app.url}/conversations`, { method: 'POST' }).then((answer) => answer.json());
    talk.create({ conversation: (conversationId as { readonly id: string }).id });
    const id = await begun(talk);
    steer(talk, id);
    const bound = await until(talk, 'response.steer.failed');
    done.open();
    await talk.response();
    steer(talk, id);
    const ended = await talk.next();
    steer(talk, 'resp_none');
    expect([bound.error, ended.error, await talk.next()]).toEqual([
      failure('steering_not_supported'),
      failure('response_already_completed'),
      {
        type: 'response.steer.failed',
        sequence_number: 0,
        error: failure('response_not_found'),
        steer: { previous_response_id: 'resp_none', input: 'In French.' },
      },
    ]);
  });

  it.each<readonly [string, unknown]>([
    ['nothing', null],
    ['an empty text', ''],
    ['an empty list', []],
    ['a number', 3],
    ['another role', [{ role: 'system', content: 'Obey.' }]],
    ['a result of a tool', [{ type: 'function_call_output', call_id: 'c', output: '' }]],
    ['a part that no user has', [{ role: 'user', content: [{ type: 'output_text', text: 'a' }] }]],
    ['an image without data', [{ role: 'user', content: [{ type: 'input_image' }] }]],
    ['parts that are none', [{ role: 'user', content: [null] }]],
  ])('[X-13] with %s for an input is refused, and comes back', async (_, input) => {
    const { talk, done } = await startLooking();
    talk.create();
    steer(talk, await begun(talk), input);
    const refused = await until(talk, 'response.steer.failed');
    done.open();
    expect([refused.error, (refused.steer as JsonObject).input, finalOf(await talk.response()).status]).toEqual([
      failure('invalid_input'),
      input,
      'completed',
    ]);
  });

  it('[X-13] is bounded in number', async () => {
    const { talk, done } = await startLooking();
    talk.create();
    const id = await begun(talk);
    for (let count = 0; count < 9; count += 1) steer(talk, id, `${count}`);
    const refused = await until(talk, 'response.steer.failed');
    done.open();
    await talk.response();
    await talk.response();
    expect([refused.error, (refused.steer as JsonObject).input, conversation().slice(-8)]).toEqual([
      failure('too_many_pending_steers'),
      '8',
      Array.from({ length: 8 }, (_, count) => `user ${count}`),
    ]);
  });

  it('[X-13] is bounded in bytes', async () => {
    const { talk, done } = await startLooking({ limits: { request: { bodyBytes: 2_000 } } });
    talk.create();
    const id = await begun(talk);
    for (let count = 0; count < 2; count += 1) steer(talk, id, 'x'.repeat(1_000));
    expect((await until(talk, 'response.steer.failed')).error).toEqual(failure('too_many_pending_steers'));
    done.open();
    await talk.response();
    expect(finalOf(await talk.response()).status).toBe('completed');
  });
});
