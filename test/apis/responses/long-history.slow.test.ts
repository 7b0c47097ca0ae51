/** What a turn holds in memory while the model answers. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { openResponses } from '../../../src/core.ts';
import { memoryStore, type Upstream } from '../../../src/index.ts';

/** An upstream that says a word and then waits until it is let go, and what it was asked, held weakly. */
function waitingUpstream() {
  const requested: WeakRef<object>[] = [];
  let letGo = () => {};
  const free = new Promise<void>((resolve) => {
    letGo = resolve;
  });
  async function* words() {
    yield [{ type: 'text-delta', text: 'Hello' } as const];
    await free;
    yield [{ type: 'finish', reason: 'stop' } as const];
  }
  const upstream: Upstream = {
    name: 'waiting',
    stream(request) {
      requested.push(...request.items.map((item) => new WeakRef(item)));
      return words();
    },
  };
  return { upstream, requested, letGo: () => letGo() };
}

it('[Q-04] a history of more than a few kilobytes may go while the model answers: only what the request itself brought is held', async () => {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  const { upstream, requested, letGo } = waitingUpstream();
  const store = memoryStore();
  store.put({
    scope: 'anonymous',
    id: 'resp_past',
    createdAt: 1,
    input: [{ id: 'msg_1', type: 'message', role: 'user', content: 'Hi. '.repeat(2000) }],
    output: [{ id: 'msg_2', type: 'message', role: 'assistant', status: 'completed', content: [] }],
    resource: {},
  });
  const { handle } = openResponses({ upstream, store });
  const body = { model: 'm', stream: true, input: 'And?', previous_response_id: 'resp_past' };
  const { signal } = new AbortController();
  const reply = await handle({ method: 'POST', path: '/responses', headers: {}, body, signal });
  await nextTurn();
  collect();
  const held = requested.map((item) => item.deref() !== undefined);
  letGo();
  let text = '';
  for await (const frames of reply?.body ?? []) text += frames;
  expect(held).toEqual([false, false, true]);
  expect(text).toContain('response.completed');
});
