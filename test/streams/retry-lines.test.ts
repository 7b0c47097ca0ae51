/** The times after which a server has its clients reconnect, which it does not set as it likes. */
import { createParser } from 'eventsource-parser';
import fc from 'fast-check';
import { boundedRetries } from '../../src/streams/retry-lines.ts';
import { withEventLines } from '../../src/tools/mcp/shared/http-pool.ts';

/** What a parser is told to wait, and what it is sent. */
function heard(text: string) {
  const retries: number[] = [];
  const events: unknown[] = [];
  const parser = createParser({
    onEvent: ({ id, data }) => events.push([id, data]),
    onRetry: (ms) => retries.push(ms),
  });
  parser.feed(text);
  return { retries, events };
}

const STREAM =
  'id: 1\nretry: 1\ndata: a\n\nretry:0\nretry: 5000\nretrying: 1\n\nretry: 999999999999\ndata: retry: 1\n\n';
const WHOLE = {
  retries: [1000, 1000, 5000, 30_000],
  events: [
    ['1', 'a'],
    ['1', 'retry: 1'],
  ],
};

it('[G-11] are bounded at both ends, wherever the stream is split', () => {
  const ends = fc.array(fc.nat(STREAM.length), { maxLength: 12 }).map((cuts) => cuts.sort((one, other) => one - other));
  fc.assert(
    fc.property(ends, (cuts) => {
      const bounded = boundedRetries();
      const pieces = [0, ...cuts].map((from, at) => STREAM.slice(from, cuts[at] ?? STREAM.length));
      const { retries, events } = heard(pieces.map(bounded).join(''));
      expect([retries, events.map((event) => (event as readonly unknown[])[1])]).toEqual([
        WHOLE.retries,
        ['a', 'retry: 1'],
      ]);
    }),
  );
});

it('[G-11] hold back no more than a time takes, and obey none of more digits', () => {
  const bounded = boundedRetries();
  const written = ['data: a\nretry: ', ...Array<string>(1000).fill('0'), '1\ndata: b\n\n'].map(bounded);
  expect([heard(written.join('')).retries, Math.max(...written.map(({ length }) => length)) < 64]).toEqual([[], true]);
});

it('[G-11] are bounded in the streams of an MCP server, which may write them as it likes', async () => {
  const body = '\ufeffretry: 1\r\nid: 1\rdata: a\r\n\r\n';
  const fetch = withEventLines(
    async () => new Response(body, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } }),
  );
  const response = await fetch('http://server/mcp', {});
  expect(heard(await response.text())).toEqual({ retries: [1000], events: [['1', 'a']] });
});

it.each([1, 2, 3, 4])(
  '[G-11] are bounded behind %i byte order marks, of which each reader takes one away',
  async (count) => {
    const body = `${'\ufeff'.repeat(count)}retry: 1\nid: 1\ndata: a\n\n`;
    const fetch = withEventLines(async () => new Response(body, { headers: { 'content-type': 'text/event-stream' } }));
    const response = await fetch('http://server/mcp', {});
    expect(heard(await response.text())).toEqual({ retries: [1000], events: [['1', 'a']] });
  },
);

it('[G-11] are bounded behind a byte order mark that comes in a piece of its own', () => {
  const bounded = boundedRetries();
  const written = ['', '\ufeff', '\ufeff', 'retry: 1\n', '\ufeffretry: 1\n'].map(bounded).join('');
  expect(written).toBe('retry: 1000\n\ufeffretry: 1\n');
});
