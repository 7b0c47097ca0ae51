/** Errors of model servers, as clients and hosts see them. */
import { ApiError } from '../../src/protocol/errors.ts';
import { scrubber } from '../../src/protocol/secrets/scrub.ts';

const LONG = 'x'.repeat(70_000);

it.each([
  ['no secret', undefined],
  ['a secret', 'upstream-key'],
  ['a secret as long as the message', 'k'.repeat(70_000)],
])('[F-11] shows the beginning of a message that is longer than is read, where there is %s', (_, apiKey) => {
  const { of } = scrubber({ baseURL: new URL('http://localhost/v1'), apiKey, forwardHeaders: [] });
  // The cast: an `ApiError` stays one.
  const { message } = of({})(new ApiError('upstream_error', LONG)) as ApiError;
  expect(message).toBe(apiKey && apiKey.length > 1000 ? '' : LONG.slice(0, 4096));
});
