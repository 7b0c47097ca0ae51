/** Very many deferred tools, and models and clients that exploit them. */
import type { ToolProvider } from '../../src/index.ts';
import { findTools } from '../../src/tools/find-tools.ts';
import { post } from '../support/responses-client.ts';
import { type ChatBody, calls, played, says, withTools } from '../tools/support.ts';
import { tally } from './tally.ts';

const { tried } = tally('tool search');

const list = Array.from({ length: 10_000 }, (_, n) => ({
  server: 'many',
  name: `${'long_'.repeat(40)}${n}`,
  description: `Does the ${n}th thing. ${'word '.repeat(800)}`,
  deferred: true,
}));
const many: ToolProvider = {
  name: 'many',
  list: () => list,
  call: () => Promise.resolve({ content: 'Ran.' }),
};

describe('ten thousand deferred tools', () => {
  it('[F-04] are searched fifty times in one turn, quickly, and only the found ones are sent', async () => {
    const searches = Array.from(
      { length: 50 },
      (_, n) => [`s${n}`, 'tool_search', `{"query":"${n}th","limit":20}`] as const,
    );
    const script = [calls(...searches), says('Enough.')];
    await withTools({ tools: many }, async (app) => {
      const began = process.cpuUsage();
      app.fake.reply(...script);
      const { text } = await post(app.url);
      const cpu = process.cpuUsage(began).user / 1e6;
      const bodies = app.fake.requests.map(({ body }) => body as ChatBody);
      expect([JSON.parse(text).status, bodies[0]?.tools?.length, cpu < 20]).toEqual(['completed', 1, true]);
      expect(bodies[1]?.tools?.length).toBeLessThan(1_100);
    });
    tried('searches in one turn', 50);
  });

  it('[F-04] are searched with a query of a megabyte', async () => {
    const query = JSON.stringify({ query: 'thing '.repeat(170_000) });
    const { requested } = await played({ tools: many }, [calls(['c', 'tool_search', query]), says('So.')]);
    expect(requested[1]?.tools?.length).toBe(6);
    tried('queries of a megabyte');
  });

  it('[F-04] are chosen by thousands of entries in linear time', async () => {
    const entries = Array.from({ length: 4_000 }, () => ({ type: 'mcp', server_label: 'many' }));
    const began = process.cpuUsage();
    await played({ tools: many }, [says('So.')], {
      tool_choice: { type: 'allowed_tools', mode: 'auto', tools: entries },
    });
    expect(process.cpuUsage(began).user / 1e6).toBeLessThan(10);
    tried('entries of allowed_tools', 4_000);
  });

  it('[F-04] are searched in time proportional to their number, whatever the words', () => {
    const entries = list.map((tool) => ({ tool }));
    const queries = [
      `word ${'wor d'.repeat(200_000)}`,
      Array.from({ length: 1_000 }, (_, n) => `w${n}`).join(' '),
      '\u{1d400}'.repeat(500_000),
      'aA'.repeat(500_000),
    ];
    const began = process.cpuUsage();
    for (const query of queries) {
      for (let count = 0; count < 20; count += 1) findTools(entries, query, 20);
      tried('searches for odd words', 20);
    }
    expect(process.cpuUsage(began).user / 1e6).toBeLessThan(20);
  });
});
