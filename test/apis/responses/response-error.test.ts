/** The error of a response, by what went wrong. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { errorCodes } from '../../../src/protocol/errors.ts';
import { responseError } from '../../../src/protocol/responses/response-error.ts';

const message = 'No.';
const OPENAI = '../../../node_modules/openai/resources/responses/responses.d.ts';

/** The codes of the newest types of OpenAI's. */
function listedCodes(): readonly string[] {
  const types = readFileSync(join(import.meta.dirname, OPENAI), 'utf8');
  const [, union = ''] = /interface ResponseError \{[^}]*?code: ([^;]+);/.exec(types) ?? [];
  return union.split('|').map((code) => code.trim().slice(1, -1));
}

it('[F-25] keeps every code of OpenAI’s newest types, and adds no reason', () => {
  const codes = listedCodes();
  expect(codes.length).toBeGreaterThan(15);
  const reported = codes.map((code) => responseError({ code, message, type: 'server_error', param: null }));
  expect(reported).toEqual(codes.map((code) => ({ code, message, type: 'server_error', param: null })));
});

it.each([
  ['context_length_exceeded', 400],
  ['insufficient_quota', 429],
  ['server_is_overloaded', 503],
])('[F-25] keeps %s, which OpenAI sends and its own client decides by', (code, status) => {
  expect(responseError({ code, message, status }).code).toBe(code);
});

it.each<[string | null, number | undefined, string, string]>([
  ['output_too_large', undefined, 'server_error', 'server_error'],
  ['upstream_truncated', 502, 'server_error', 'server_error'],
  ['store_error', 500, 'server_error', 'server_error'],
  ['too_many_streams', 429, 'rate_limit_error', 'rate_limit_exceeded'],
  ['RateLimitReached', 429, 'rate_limit_error', 'rate_limit_exceeded'],
  ['slow', 429, 'tokens', 'rate_limit_exceeded'],
  ['invalid_request', 400, 'invalid_request_error', 'invalid_prompt'],
  ['invalid_api_key', 401, 'invalid_request_error', 'server_error'],
  ['mine', undefined, 'invalid_request_error', 'invalid_prompt'],
  [null, undefined, 'server_error', 'server_error'],
])('[F-25] says %s with status %s and type %s as %s, with its reason', (code, status, type, expected) => {
  const reported = responseError({ code, message, type, param: 'input', ...(status ? { status } : {}) });
  expect(reported).toEqual({ code: expected, message, type, param: 'input', ...(code ? { reason: code } : {}) });
});

it('[F-25] has a code of the types for every code of this package', () => {
  // Besides the one that OpenAI sends all the same.
  const listed = new Set([...listedCodes(), 'insufficient_quota']);
  const reported = errorCodes.map((code) => responseError({ code, message }).code);
  expect(reported.filter((code) => !listed.has(String(code)))).toEqual([]);
});
