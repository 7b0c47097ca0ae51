/** What the Open Responses acceptance suite asks of a WebSocket, of each example app: one test for each of its tests, under their names. */
import { chatCompletion, textStream, toolCallStream } from '../../src/testing/index.ts';
import { finalOf, type Message, outcomeOf, startExampleApp } from '../hosts/websocket/support.ts';
import { expectValidEvent, expectValidResponse } from '../support/open-responses-schema.ts';
import { expectWireLaws } from '../support/wire-laws.ts';
import { expectWire } from '../support/wire-schemas.ts';
import { EXAMPLES } from './examples.ts';

let app: Awaited<ReturnType<typeof startExampleApp>>;

const USER = [{ type: 'message', role: 'user', content: 'Say hello.' }];
const ORPHAN = [{ type: 'function_call_output', call_id: 'call_openresponses_missing', output: 'x' }];

/** Throws unless each message is an event of the schema, and all of them one whole response. */
function expectWhole(messages: readonly Message[]): void {
  for (const message of messages) expectValidEvent(message);
  expectValidResponse(finalOf(messages));
  expectWireLaws(messages.map((message) => expectWire(message)));
}

describe.each(EXAMPLES)('the %s example over WebSocket', (_name, start) => {
  beforeEach(async () => {
    app = await startExampleApp(start);
  });
  afterEach(() => app.close());

  it('[S-15] [Q-01] websocket-response: every frame is an event of the schema, and the response completes', async () => {
    const talk = await app.connect();
    const messages = await talk.ask({ input: USER });
    expectWhole(messages);
    expect(outcomeOf(messages)).toBe('completed');
  });

  it('[S-15] websocket-sequential-responses: two requests complete one after the other on one socket', async () => {
    const talk = await app.connect();
    const first = await talk.ask({ store: false, input: 'First.' });
    const second = await talk.ask({ store: false, input: 'Second.' });
    for (const messages of [first, second]) expectWhole(messages);
    expect([outcomeOf(first), outcomeOf(second), finalOf(first).id === finalOf(second).id]).toEqual([
      'completed',
      'completed',
      false,
    ]);
  });

  it('[S-15] websocket-continuation: a response that is not stored is continued on its own connection', async () => {
    const talk = await app.connect();
    const first = await talk.ask({ store: false, input: 'My name is Ada.' });
    const second = await talk.ask({ store: false, previous_response_id: finalOf(first).id, input: 'My name?' });
    expectWhole(second);
    expect([outcomeOf(second), app.requested()]).toEqual([
      'completed',
      [
        { role: 'user', content: 'My name is Ada.' },
        { role: 'assistant', content: 'Hello!' },
        { role: 'user', content: 'My name?' },
      ],
    ]);
  });

  it('[S-15] websocket-reconnect-store-false-recovery: on a new connection it is not found, and the connection goes on', async () => {
    const first = await app.connect();
    const { id } = finalOf(await first.ask({ store: false }));
    first.socket.close();
    const second = await app.connect();
    const lost = await second.ask({ store: false, previous_response_id: id });
    const fresh = await second.ask({ store: false });
    expect([lost, outcomeOf(fresh)]).toEqual([[notFound(id)], 'completed']);
  });

  it('[S-15] websocket-previous-response-not-found: an id that never was is refused by its code', async () => {
    const talk = await app.connect();
    const id = `resp_${'0'.repeat(32)}`;
    expect(await talk.ask({ store: false, previous_response_id: id })).toEqual([notFound(id)]);
  });

  it('[S-15] websocket-failed-continuation-evicts-cache: a continuation that fails takes its response with it', async () => {
    const talk = await app.connect();
    const { id } = finalOf(await talk.ask({ store: false }));
    const failed = await talk.ask({ store: false, previous_response_id: id, input: ORPHAN });
    const again = await talk.ask({ store: false, previous_response_id: id });
    expect([outcomeOf(failed), again]).toEqual(['tool_call_not_found', [notFound(id)]]);
  });

  it('[S-15] websocket-compact-new-chain: a window with a compaction item starts a new chain', async () => {
    app.fake.reply({ body: chatCompletion('They said hello.') }, { body: textStream('Hello again.') });
    const answer = await fetch(`${app.url}/responses/compact`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fake-model', input: USER }),
    });
    const { output } = (await answer.json()) as { readonly output: readonly Message[] };
    const talk = await app.connect();
    const messages = await talk.ask({ tools: [], input: [...output, ...USER] });
    expect(output.map(({ type }) => type)).toContain('compaction');
    expectWhole(messages);
    expect(outcomeOf(messages)).toBe('completed');
  });

  it('[S-15] continues a call of the client’s with its output alone', async () => {
    app.fake.reply(
      { body: toolCallStream([{ id: 'call_1', name: 'look', arguments: '{}' }]) },
      { body: textStream('Seen.') },
    );
    const talk = await app.connect();
    const tools = [{ type: 'function', name: 'look', parameters: { type: 'object' } }];
    const called = await talk.ask({ store: false, tools });
    const [call] = finalOf(called).output as readonly Message[];
    const answered = await talk.ask({
      store: false,
      tools,
      previous_response_id: finalOf(called).id,
      input: [{ type: 'function_call_output', call_id: call?.call_id, output: 'a tree' }],
    });
    for (const messages of [called, answered]) expectWhole(messages);
    expect(app.requested().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool']);
  });
});

function notFound(id: string) {
  return {
    type: 'error',
    status: 400,
    error: {
      type: 'invalid_request_error',
      code: 'previous_response_not_found',
      message: `Previous response with id '${id}' not found.`,
      param: 'previous_response_id',
    },
  };
}
