/** What the middlewares add to a response of the host's, whose own handler may add as much as Node bears without a warning. */
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import {
  functionTools,
  guard,
  heartbeat,
  injectTools,
  loadHistory,
  memoryStore,
  recordTurn,
  validateMessages,
} from '../../../src/index.ts';
import { tokenBudget } from '../../../src/policies/budgets/index.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import { textStream } from '../../../src/testing/index.ts';
import { CHAT, type Step, withHost } from './host.ts';

const store = memoryStore();
const middlewares: Readonly<Record<string, () => readonly unknown[]>> = {
  heartbeat: () => [heartbeat()],
  recordTurn: () => [recordTurn({ store })],
  loadHistory: () => [loadHistory({ store })],
  validateMessages: () => [validateMessages()],
  injectTools: () => [injectTools({ tools: functionTools({ now: { execute: () => '12:00' } }) })],
  guard: () => [guard({ guards: { output: [pii()] } })],
  tokenBudget: () => [tokenBudget()],
};

/** The most listeners of the end of its response that there were while the handler answered by a pipeline. */
async function closeListeners(steps: readonly unknown[]): Promise<number> {
  let most = 0;
  const handler: Step = (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    const count = () => {
      most = Math.max(most, res.listenerCount('close'));
    };
    const events = textStream('Hello').split(/(?<=\n\n)/);
    const source = Readable.from(events).on('data', count);
    source.pause();
    return pipeline(source, res);
  };
  await withHost([...(steps as Step[]), handler], async ({ post }) => {
    expect(await (await post({ ...CHAT, stream: true })).text()).toContain('[DONE]');
  });
  return most;
}

describe('the listeners that middlewares add to a response', () => {
  it.each(Object.entries(middlewares))('[X-01] of its end is one at most for %s', async (_, steps) => {
    expect(await closeListeners(steps())).toBeLessThanOrEqual((await closeListeners([])) + 1);
  });

  it('[X-01] of its end is one for all of them together, however often they stand there', async () => {
    const all = Object.values(middlewares).flatMap((steps) => [...steps(), ...steps()]);
    expect(await closeListeners(all)).toBeLessThanOrEqual((await closeListeners([])) + 1);
  });
});
