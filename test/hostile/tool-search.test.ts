/** Very many deferred tools, and models and clients that exploit them. */

import { findTools } from '../../src/engine/tools/find-tools.ts';
import type { ToolProvider } from '../../src/index.ts';
import { type ChatBody, calls, played, says, withTools } from '../engine/tools/support.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { post } from '../support/responses-client.ts';
import { tally } from './tally.ts';

const { tried } = tally('tool search');

const list = Array.from({ length: 10_000 }, (_, n) => ({
  server: 'many',
  name: `${'long_'.repeat(40)}${n}`,
  description: `Does the ${n}th thing. ${'word '.repeat(800)}`,
  deferred: true,
}));
const first = (count: number): ToolProvider => ({
  name: 'many',
  list: () => list.slice(0, count),
  call: () => Promise.resolve({ content: 'Ran.' }),
});
const many = first(list.length);

describe('thousands of deferred tools', () => {
  it('[F-04] are searched fifty times in one turn, in linear work, and only the found ones are sent', async () => {
    const searches = Array.from(
      { length: 50 },
      (_, n) => [`s${n}`, 'tool_search', `{"query":"${n}th","limit":20}`] as const,
    );
    const script = [calls(...searches), says('Enough.')];
    await expectLinearWork(1_600, (size) =>
      withTools({ tools: first(size) }, async (app) => {
        app.fake.reply(...script);
        const { text } = await post(app.url);
        const bodies = app.fake.requests.map(({ body }) => body as ChatBody);
        expect([JSON.parse(text).status, bodies[0]?.tools?.length]).toEqual(['completed', 1]);
        expect(bodies[1]?.tools?.length).toBeLessThan(1_100);
      }),
    );
    tried('searches in one turn', 50);
  });

  it('[F-04] are searched with a query of a megabyte', async () => {
    const query = JSON.stringify({ query: 'thing '.repeat(170_000) });
    const { requested } = await played({ tools: many }, [calls(['c', 'tool_search', query]), says('So.')]);
    expect(requested[1]?.tools?.length).toBe(6);
    tried('queries of a megabyte');
  });

  it('[F-04] are chosen by thousands of entries in work of their sum, not of their product', async () => {
    await expectLinearWork(4_000, async (size) => {
      const entries = Array.from({ length: size }, () => ({ type: 'mcp', server_label: 'many' }));
      await played({ tools: first(size) }, [says('So.')], {
        tool_choice: { type: 'allowed_tools', mode: 'auto', tools: entries },
      });
    });
    tried('entries of allowed_tools', 4_000);
  });

  it.each<[string, (size: number) => string]>([
    ['words that are cut', (size) => `word ${'wor d'.repeat(size)}`],
    ['different words', (size) => Array.from({ length: size / 2 }, (_, n) => `w${n}`).join(' ')],
    ['letters of two units', (size) => '\u{1d400}'.repeat(50 * size)],
    ['small letters and capitals', (size) => 'aA'.repeat(50 * size)],
  ])('[F-04] are searched in work proportional to their number, whatever the words: %s', async (_, query) => {
    await expectLinearWork(1_600, (size) =>
      findTools(
        list.slice(0, size).map((tool) => ({ tool })),
        query(size),
        20,
      ),
    );
    tried('searches for odd words', 3);
  });
});
