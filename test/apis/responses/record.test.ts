/** Which turn is read out of somebody else's answer in the Responses API. */

import fc from 'fast-check';
import { responseReader } from '../../../src/apis/responses/record.ts';
import type { EndpointRequest } from '../../../src/engine/request/endpoint-request.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';

const REPORTED = {
  type: 'message',
  id: 'msg_theirs',
  role: 'assistant',
  content: [{ type: 'output_text', text: 'Hi' }],
};
const ANSWER = {
  id: 'resp_theirs',
  object: 'response',
  status: 'completed',
  model: 'm',
  tools: [],
  output: [REPORTED],
};

function readerOf(given: Partial<EndpointRequest> = {}) {
  return responseReader(endpointRequest({ body: { model: 'm', input: 'Go.' }, ...given }), DEFAULT_LIMITS);
}

/** The turn in an answer, without times and ids of ours. */
function turnIn(answer: unknown, given?: Partial<EndpointRequest>) {
  const reader = readerOf(given);
  reader.whole(typeof answer === 'string' ? answer : JSON.stringify(answer));
  return bare(reader.turn());
}

/** The same for a stream of these events, and which of them is the last. */
function streamed(...events: readonly JsonObject[]) {
  const reader = readerOf();
  const last = events.findIndex((event) => reader.event(JSON.stringify(event)));
  return { last, turn: bare(reader.turn()) };
}

function bare(turn: ReturnType<ReturnType<typeof readerOf>['turn']>) {
  if (!turn) return undefined;
  const { createdAt, input, ...rest } = turn;
  return { ...rest, input: input.map(({ id, ...item }) => item) };
}

const KEPT = {
  scope: 's',
  id: 'resp_theirs',
  input: [{ type: 'message', role: 'user', status: 'completed', content: [{ type: 'input_text', text: 'Go.' }] }],
  output: [REPORTED],
  resource: { id: 'resp_theirs', object: 'response', status: 'completed', model: 'm', tools: [] },
};

describe('responseReader', () => {
  it('[X-02] [S-12] reads the turn as it stands in the answer, under the answer’s own id', () => {
    expect(turnIn(ANSWER)).toEqual(KEPT);
  });

  it('[P-12] reads it from the last event of a stream, whatever its other events say of it', () => {
    const delta = { type: 'response.output_text.delta', delta: '{"type":"response.completed"}' };
    const created = { type: 'response.created', response: { ...ANSWER, status: 'in_progress', output: [] } };
    expect(streamed(created, delta, { type: 'response.completed', response: ANSWER }, delta)).toEqual({
      last: 2,
      turn: KEPT,
    });
  });

  it('[S-11] keeps a turn that is incomplete, and one whose server does not say', () => {
    const { status, ...silent } = ANSWER;
    const incomplete = { ...ANSWER, status: 'incomplete' };
    expect([
      turnIn(incomplete),
      streamed({ type: 'response.incomplete', response: incomplete }),
      turnIn(silent),
    ]).toEqual([
      { ...KEPT, resource: { ...KEPT.resource, status: 'incomplete' } },
      { last: 0, turn: { ...KEPT, resource: { ...KEPT.resource, status: 'incomplete' } } },
      { ...KEPT, resource: { id: 'resp_theirs', object: 'response', model: 'm', tools: [] } },
    ]);
  });

  it('[X-02] reads nothing from an answer that failed, goes on in the background or is no response', () => {
    const nothing = [
      turnIn({ ...ANSWER, status: 'failed' }),
      turnIn({ ...ANSWER, status: 'queued' }),
      turnIn({ ...ANSWER, status: 'in_progress' }),
      turnIn({ ...ANSWER, id: undefined }),
      turnIn({ ...ANSWER, output: undefined }),
      turnIn([]),
      turnIn('<html>'),
      turnIn('{"id":"resp_theirs","outp'),
      streamed({ type: 'response.failed', response: { ...ANSWER, status: 'failed' } }).turn,
      streamed({ type: 'response.created', response: ANSWER }).turn,
      streamed({ type: 'response.completed' }).turn,
      readerOf().turn(),
    ];
    expect(nothing).toEqual(nothing.map(() => undefined));
  });

  it('[S-12] keeps the client’s own input and the id that it continues, wherever the turns were loaded', () => {
    const loaded = [{ type: 'message', role: 'user', content: 'Before.' }];
    const previous = { scope: 's', id: 'resp_0', createdAt: 0, input: [], output: [], resource: {} };
    const input = [...loaded, { role: 'user', content: 'Go.' }];
    const kept = { ...KEPT, previousId: 'resp_0' };
    expect([
      turnIn(ANSWER, { body: { input }, context: { history: { previous, loaded } } }),
      turnIn(ANSWER, { body: { input: 'Go.', previous_response_id: 'resp_0' } }),
      turnIn(ANSWER, { body: { input: 'Go.', previous_response_id: null } }),
      turnIn(ANSWER, { body: { input: 'Go.', previous_response_id: '' } }),
    ]).toEqual([kept, kept, KEPT, KEPT]);
  });

  it('[Q-06] never throws, whatever the events', () => {
    const data = fc.oneof(fc.string(), fc.json(), fc.constantFrom('{"type":"response.completed"', 'null'));
    fc.assert(
      fc.property(fc.array(data), fc.boolean(), (events, asWhole) => {
        const reader = readerOf();
        for (const event of events) asWhole ? reader.whole(event) : reader.event(event);
        reader.turn();
      }),
    );
  });
});
