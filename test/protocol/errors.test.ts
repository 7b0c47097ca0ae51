/** Errors for clients, whose codes may be those of a model server. */

import { ApiError } from '../../src/protocol/errors.ts';
import { errorInBody, upstreamError } from '../../src/protocol/upstream-errors/upstream-error.ts';

it.each<unknown>([{ toString: null }, [[]], null, true, { valueOf: 1 }])(
  'what is no text and no number is no code of a model server: %j',
  (code) => {
    const error = errorInBody({ error: { message: 'No.', code, type: code, status: code } });
    expect([error?.status, error?.code, error?.message]).toEqual([502, 'upstream_error', 'No.']);
  },
);

it.each(['toString', 'constructor', '__proto__', 'hasOwnProperty', ''])(
  'a code of a model server may be any text: %j',
  (code) => {
    const { status, type } = new ApiError(code, 'No.');
    const answered = upstreamError(429, { error: { message: 'No.', code } });
    expect([status, type, answered.status, answered.code]).toEqual([
      500,
      'server_error',
      429,
      code === '' ? 'rate_limit_exceeded' : code,
    ]);
  },
);

it('[P-14] a code of a model server is cut to 128 characters, since errors are counted by it while the process lives', () => {
  expect(errorInBody({ error: { message: 'No.', code: 'c'.repeat(1000) } })?.code).toBe('c'.repeat(128));
});
