/** The processes that read documents, and their queue, are shared out between tenants. */
import { setMaxListeners } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { documentText } from '../../../src/tools/documents/index.ts';
import { describeWhere } from '../../support/skipping.ts';

const WORKER = join(import.meta.dirname, '../../../dist/cjs/tools/documents/reading/document-worker.js');
/** Longer than what is read without a process. */
const LONG = Buffer.from('x'.repeat(300_000));

describeWhere(existsSync(WORKER), 'needs `npm run build`')('documents', () => {
  it('[G-07] of a greedy tenant leave another’s room to wait and a process to be read by', async () => {
    const reader = documentText({ processes: 2, waiting: 4 });
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const read = (scope: string, signal: AbortSignal) =>
      reader
        .read({ filename: 'a.txt', scope, bytes: LONG.length, content: async () => [LONG] as never }, signal)
        .then(({ length }) => length, Object);
    const greedy = Array.from({ length: 20 }, () => read('greedy', stop.signal));
    // All of them have asked for a process.
    await new Promise((resolve) => setImmediate(resolve));
    const modest = await read('modest', new AbortController().signal);
    stop.abort(new Error('stopped'));
    const ends = await Promise.all(greedy);
    await reader.close?.();
    const refused = ends.filter(({ code }) => code === 'too_many_documents');
    expect([modest, refused.length > 10]).toEqual([LONG.length, true]);
  });
});
