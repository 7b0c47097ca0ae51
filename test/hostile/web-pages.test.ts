/** Pages that are made to exhaust their reader: each ends in time, and the process continues meanwhile. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PageProcesses } from '../../src/tools/web-search/pages/page-processes.ts';
import { passagesIn } from '../../src/tools/web-search/pages/passages.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { describeWhere } from '../support/skipping.ts';
import { tally } from './tally.ts';

const { tried } = tally('pages of the web');
const WORKER = join(import.meta.dirname, '../../dist/cjs/tools/web-search/pages/page-worker.js');
const NEVER = { tenant: 'one', signal: new AbortController().signal };
const MOST_MS = 2000;

const times = (text: string, count: number): string => text.repeat(count);

const PAGES: readonly (readonly [string, string])[] = [
  ['100,000 nested elements', times('<div>', 100_000)],
  ['100,000 nested elements with an end', times('<div>', 100_000) + times('</div>', 100_000)],
  ['a million tags that never close', times('<b', 1_000_000)],
  ['200,000 open formats', times('<b><i><a href=x>', 70_000)],
  ['comments that never close', times('<!--', 500_000)],
  ['a script that never closes', `<script>${times('x', 2_000_000)}`],
  ['a million attributes', `<p ${times('a=b ', 1_000_000)}>`],
  ['nested tables', times('<table><tr><td>', 30_000)],
  ['references without end', times('&amp', 1_000_000)],
  ['a title of megabytes', `<html><head><title>${times('x ', 2_000_000)}`],
  ['styles', `<style>${times('a{', 500_000)}</style>${times('<p style="color:red">x</p>', 50_000)}`],
  ['null bytes', times('\0<p>', 500_000)],
  ['half pairs', times('\ud800<p>', 100_000)],
  ['5 MB of one line', times('x', 5_000_000)],
  ['5 MB of blanks', times(' ', 5_000_000)],
];

describeWhere(existsSync(WORKER), 'needs `npm run build`')('a page', () => {
  it.each(PAGES)('[B-41] of %s is read or given up in time, and the process continues', async (name, html) => {
    const processes = new PageProcesses(MOST_MS);
    let turns = 0;
    const timer = setInterval(() => {
      turns += 1;
    }, 1);
    const outcome = await processes.read(html, NEVER).catch((error: Error) => error.message);
    clearInterval(timer);
    await processes.close();
    tried(name, 1);
    const isRead = typeof outcome === 'object' && typeof outcome.text === 'string';
    expect(isRead || outcome === 'The page could not be read: it is too large, or not a page.').toBe(true);
    expect(turns).toBeGreaterThan(0);
  });

  it('[B-41] waits for a process, and leaves none behind', async () => {
    const processes = new PageProcesses(30 * MOST_MS);
    const read = await Promise.all(Array.from({ length: 12 }, (_, at) => processes.read(`<p>Page ${at}.</p>`, NEVER)));
    tried('pages at once', read.length);
    expect(read.map(({ text }) => text)).toEqual(Array.from({ length: 12 }, (_, at) => `Page ${at}.`));
    await processes.close();
  });

  it('[B-41] is given up when its call ends', async () => {
    const processes = new PageProcesses(60_000);
    const call = new AbortController();
    const read = processes.read(times('<div>', 100_000), { tenant: 'one', signal: call.signal });
    call.abort(new Error('The client has left.'));
    await expect(read).rejects.toThrow('The client has left.');
    await processes.close();
  });
});

describe('a text in a page', () => {
  it.each<[string, string, (size: number) => string]>([
    ['a letter', 'a', () => 'a'],
    ['letters', 'a', (size) => 'a'.repeat(size / 50)],
    ['letters and another', 'a', (size) => `${'a'.repeat(size / 50)}b`],
    ['a letter of which two become small ones', 'İ', () => 'İ'],
    ['a blank', ' ', () => ' '],
  ])('[B-41] is found in linear work: %s', async (_, unit, find) => {
    await expectLinearWork(200_000, (size) => {
      expect(passagesIn(unit.repeat(size), find(size), 16_000).length).toBeLessThan(40_000);
    });
    tried('texts to find', 3);
  });
});
