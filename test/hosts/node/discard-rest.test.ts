/** What is left of a request body when the answer has been written. */
import { EventEmitter } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { PassThrough } from 'node:stream';
import { jest } from '@jest/globals';
import { discardRest } from '../../../src/hosts/node/discard-rest.ts';

beforeEach(() => void jest.useFakeTimers());
afterEach(() => void jest.useRealTimers());

/** A request whose answer has gone out. */
function answered() {
  const req = Object.assign(new PassThrough(), { complete: false });
  const res = new EventEmitter();
  // The casts: only what is read of both.
  discardRest(req as unknown as IncomingMessage, res as ServerResponse);
  res.emit('finish');
  return req;
}

it('[F-02] is read while it arrives, however busy the machine is, so that the client gets to read the answer', () => {
  const req = answered();
  for (let sent = 0; sent < 7; sent += 1) {
    jest.advanceTimersByTime(4000);
    req.emit('data', Buffer.alloc(10));
  }
  expect(req.destroyed).toBe(false);
});

it('[F-02] is cut off when the client pauses, and when it never ends', () => {
  const silent = answered();
  jest.advanceTimersByTime(5001);
  const endless = answered();
  for (let sent = 0; sent < 31; sent += 1) {
    jest.advanceTimersByTime(1000);
    endless.emit('data', Buffer.alloc(10));
  }
  expect([silent.destroyed, endless.destroyed]).toEqual([true, true]);
});
