/** Connections that came and went leave nothing behind, however they went. */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import {
  chatChunk,
  type FakeReply,
  type FakeRequest,
  startFakeUpstream,
  textStream,
} from '../../../src/testing/index.ts';

type Counts = Readonly<Record<string, number>>;

interface Report {
  readonly before: Counts;
  readonly after: Counts;
  readonly warnings: readonly string[];
}

/** Falls silent in the middle for those who mean to leave there. */
function replyTo({ body }: FakeRequest): FakeReply {
  const stalls = JSON.stringify(body).includes('stall');
  return stalls ? { body: chatChunk({ content: 'word' }), stallAfterBytes: 10_000 } : { body: textStream('Hello') };
}

describe('500 connections', () => {
  it('[S-15] [P-10] leave no listener, socket, timer or signal behind', async () => {
    const fake = await startFakeUpstream({ reply: replyTo });
    const child = fork(join(import.meta.dirname, 'leak-app.ts'), {
      execArgv: ['--expose-gc', '--import', join(import.meta.dirname, '../../support/memory-hooks.mjs')],
      env: { ...process.env, UPSTREAM_URL: fake.baseURL },
    });
    const exited = once(child, 'exit');
    const [report] = (await once(child, 'message')) as [Report];
    const [status] = await exited;
    await fake.close();
    // The pool of connections to the model server grows with a slow machine; what leaks does so 500 times.
    const grown = Object.entries(report.after).filter(([kind, count]) => count > (report.before[kind] ?? 0) + 100);
    const warnings = report.warnings.filter((text) => !/queryObjects/.test(text));
    expect([status, grown, report.before.listeners === report.after.listeners, warnings]).toEqual([0, [], true, []]);
  });
});
