/** What the hooks `onError` and `onNote` receive beside an error or a note: the request, and its tenant and response where there are some. */

import { memoryStore, type RouterOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { startApp } from '../support/app.ts';

const RESPONSE = expect.stringMatching(/^resp_/);

/** What was reported of one request, as `code` and the rest. */
async function reportsOf(
  options: RouterOptions,
  { path = 'responses', ...body }: JsonObject & { readonly path?: string },
  { headers = {}, prepare }: { headers?: Record<string, string>; prepare?: (fake: FakeUpstream) => void } = {},
): Promise<readonly unknown[]> {
  const reports: unknown[] = [];
  const report = ({ code }: { readonly code: string }, info: object) => void reports.push({ code, ...info });
  const fake = await startFakeUpstream({ reply: { body: textStream('Hello!') } });
  prepare?.(fake);
  const hooks = { onError: report, onNote: report };
  const app = await startApp({ upstream: fake, options: { scope: () => 'acme', hooks, ...options } });
  const answer = await fetch(`${app.url}/${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-request-id': 'mine', ...headers },
    body: JSON.stringify({ model: 'm', ...body }),
  });
  await answer.text();
  await Promise.all([app.close(), fake.close()]);
  return reports;
}

const refusing = (fake: FakeUpstream) => fake.reply({ status: 400, body: '{"error":{"code":"odd","message":"No."}}' });
const broken = (fake: FakeUpstream) => fake.reply({ body: textStream('Hello!').slice(0, 60) });
const failingStore = { ...memoryStore(), put: () => Promise.reject(new Error('full')) };

describe('a report names', () => {
  it('the request alone, where its tenant is not known', async () => {
    const headers = { authorization: 'Bearer a', 'x-api-key': 'b' };
    expect(await reportsOf({ scope: undefined }, { input: 'Hi' }, { headers })).toEqual([
      { code: 'ambiguous_credentials', requestId: 'mine' },
    ]);
  });

  it('the tenant, of a request that is refused before it has a response', async () => {
    expect(await reportsOf({}, { input: 5 })).toEqual([{ code: 'invalid_type', requestId: 'mine', scope: 'acme' }]);
    const tools = [{ type: 'file_search', vector_store_ids: ['vs'] }];
    expect(await reportsOf({}, { input: 'Hi', tools })).toEqual([
      { code: 'tool_dropped', requestId: 'mine', scope: 'acme' },
    ]);
  });

  it.each([
    ['as JSON', { input: 'Hi' }, refusing],
    ['as a stream', { input: 'Hi', stream: true }, broken],
  ])('the response that failed, too: %s', async (_, body, prepare) => {
    const [report] = await reportsOf({}, body, { prepare });
    expect(report).toMatchObject({ requestId: 'mine', scope: 'acme', responseId: RESPONSE });
  });

  it('the response that could not be stored', async () => {
    const reports = await reportsOf({ store: failingStore, onStoreError: 'continue' }, { input: 'Hi' });
    expect(reports).toEqual([{ code: 'store_error', requestId: 'mine', scope: 'acme', responseId: RESPONSE }]);
  });
});
