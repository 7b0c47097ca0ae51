/** How long a turn lives. */
import { jest } from '@jest/globals';
import { activity } from '../../../src/engine/request/activity.ts';
import type { EndpointRequest } from '../../../src/engine/request/endpoint-request.ts';
import { beginTurn } from '../../../src/engine/turn/lifetime.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';

/** A request of a host that leaves ending the turn to the turn. */
function requestWith(signal: AbortSignal): EndpointRequest {
  const headers = new Headers();
  return { body: {}, params: {}, query: {}, headers, scope: 'a', requestId: 'req_1', signal };
}

describe('a turn', () => {
  it('[F-12] [P-10] is over before it begins where its client has left by then, and gives its place back', () => {
    const turns = activity({ ...DEFAULT_LIMITS, concurrentTurns: 1 });
    const left = new Error('The client left.');
    const { signal, leave } = beginTurn(requestWith(AbortSignal.abort(left)), 1000, turns);
    expect([signal.aborted, signal.reason, turns.running]).toEqual([true, left, 1]);
    leave();
    expect(turns.running).toBe(0);
  });

  it('[F-12] [P-10] ends when its client leaves, and does not watch it afterwards', () => {
    const client = new AbortController();
    const [first, second] = [1, 2].map(() => beginTurn(requestWith(client.signal), 1000, activity(DEFAULT_LIMITS)));
    second?.leave();
    client.abort(new Error('The client left.'));
    first?.leave();
    expect([first?.signal.aborted, second?.signal.aborted]).toEqual([true, false]);
  });

  it('[P-10] is over once, however often it is left, and makes no error of that', () => {
    const turns = activity({ ...DEFAULT_LIMITS, concurrentTurns: 2 });
    const [first] = [1, 2].map(() => beginTurn(requestWith(new AbortController().signal), 1000, turns));
    const over = jest.fn();
    first?.whenOver(over);
    first?.leave();
    const made = jest.spyOn(globalThis, 'Error');
    first?.leave();
    expect([over.mock.calls.length, turns.running, made.mock.calls.length]).toEqual([1, 1, 0]);
    made.mockRestore();
  });

  it('closes no connection after it, where its time limit ends it at once', () => {
    jest.useFakeTimers();
    const disconnect = jest.fn();
    const request = { ...requestWith(new AbortController().signal), disconnect };
    const { signal, leave } = beginTurn(request, 1000, activity(DEFAULT_LIMITS));
    signal.addEventListener('abort', leave);
    jest.advanceTimersByTime(10_000);
    expect([signal.aborted, disconnect.mock.calls.length]).toEqual([true, 0]);
    jest.useRealTimers();
  });
});
