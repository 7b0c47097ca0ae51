/** The processes that read pages, and their queue, are shared out between tenants. */
import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { PageProcesses } from '../../../src/tools/web-search/pages/page-processes.ts';
import { describeWhere } from '../../support/skipping.ts';

const WORKER = join(import.meta.dirname, '../../../dist/cjs/tools/web-search/pages/page-worker.js');
const HTML = `<title>Tea</title><main><p>${'Tea is hot. '.repeat(100)}</p></main>`;

describeWhere(existsSync(WORKER), 'pages are read in a process, whose code `npm run build` makes')('pages', () => {
  it('[G-15] of a greedy tenant leave another’s room to wait and a process to be read by', async () => {
    const pages = new PageProcesses();
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const greedy = Array.from({ length: 200 }, () =>
      pages.read(HTML, { tenant: 'greedy', signal: stop.signal }).then(() => 'read', String),
    );
    await new Promise((resolve) => setImmediate(resolve));
    const { text } = await pages.read(HTML, { tenant: 'modest', signal: new AbortController().signal });
    stop.abort(new Error('stopped'));
    const ends = await Promise.all(greedy);
    await pages.close();
    expect([
      text.includes('Tea is hot.'),
      ends.filter((end) => end.includes('too many others are')).length > 100,
    ]).toEqual([true, true]);
  });
});
