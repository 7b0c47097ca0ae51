/** Whatever clients answer, in whatever order and at the same time: a call runs once at most, and only as it was shown. */

import fc from 'fast-check';
import { openResponses } from '../../../src/core.ts';
import { functionTools, memoryStore, type ResponseStore, type Upstream } from '../../../src/index.ts';
import type { JsonObject } from '../../../src/protocol/record.ts';

/** Calls `send` where the user speaks, and says something where the conversation ends otherwise. */
const upstream: Upstream = {
  name: 'fake',
  async *stream({ items }) {
    const last = items.at(-1);
    const content = JSON.stringify(last?.content);
    if (last?.type !== 'message') yield [{ type: 'text-delta', text: 'Done.' }];
    else yield [{ type: 'tool-call-delta', call: 0, id: 'call_a', name: 'send', arguments: `{"said":${content}}` }];
    yield [{ type: 'finish', reason: 'stop' }];
  },
};

/** A store that answers later, so that requests overtake each other. */
function laterStore(): ResponseStore {
  const { name, get, put, delete: remove } = memoryStore();
  const later = async <Value>(answer: () => Value) => {
    await new Promise(setImmediate);
    return answer();
  };
  return {
    name,
    get: (key) => later(() => get(key)),
    put: async (stored) => void (await later(() => put(stored))),
    delete: (key) => later(() => remove(key)),
  };
}

function start(store = laterStore()) {
  const ran: string[] = [];
  const tools = functionTools({
    send: {
      execute: (args: JsonObject) => {
        ran.push(JSON.stringify(args));
        return 'Sent.';
      },
    },
  });
  const api = openResponses({
    upstream,
    store,
    tools,
    approval: () => true,
    hooks: { onError: () => {} },
  });
  const { signal } = new AbortController();
  const headers = { 'content-type': 'application/json' };
  async function ask(input: unknown, scope = 'mine') {
    const body = { model: 'm', input };
    const reply = await api.handle({ method: 'POST', path: '/responses', headers, body, signal, scope });
    // The cast: a reply without a stream is text.
    return { status: reply?.status, body: JSON.parse(reply?.body as string) as JsonObject };
  }
  return { ran, ask };
}

/** One answer to one of the calls that wait. */
const answer = fc.record({
  to: fc.nat(2),
  approve: fc.oneof({ weight: 3, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
  scope: fc.oneof({ weight: 5, arbitrary: fc.constant('mine') }, { weight: 1, arbitrary: fc.constant('theirs') }),
  /** How the request stands in the input beside the answer. */
  shown: fc.constantFrom('not', 'as it was', 'as it was', 'changed'),
});
type Answer = typeof answer extends fc.Arbitrary<infer Value> ? Value : never;

/** Answers that are given one after the other, and at the same time. */
const rounds = fc.array(fc.array(answer, { minLength: 1, maxLength: 4 }), { maxLength: 5 });

function inputOf({ to, approve, shown }: Answer, requests: readonly JsonObject[]): readonly JsonObject[] {
  const request = requests[to] as JsonObject;
  const changed = { ...request, arguments: '{"said":"else"}' };
  const item = shown === 'changed' ? changed : request;
  const response = { type: 'mcp_approval_response', approval_request_id: request.id, approve };
  return shown === 'not' ? [response] : [item, response];
}

it('[T-09] a call that was approved with one that another request was faster to approve can still be approved', async () => {
  const store = memoryStore();
  let meanwhile: () => Promise<unknown> = async () => {};
  const interrupted = {
    ...store,
    async delete(key: Parameters<typeof store.delete>[0]) {
      const [wasThere, run] = [store.delete(key), meanwhile];
      meanwhile = async () => {};
      await run();
      return wasThere;
    },
  };
  const { ran, ask } = start(interrupted);
  const waiting = await Promise.all(['a', 'b'].map((word) => ask(word)));
  const ids = waiting.map(({ body }) => String((body.output as readonly JsonObject[]).at(-1)?.id)).toSorted();
  const approve = (...given: readonly (string | undefined)[]) =>
    ask(given.map((id) => ({ type: 'mcp_approval_response', approval_request_id: id, approve: true })));
  meanwhile = async () => expect((await approve(ids[1])).status).toBe(200);
  const both = await approve(...ids);
  const again = await approve(ids[0]);
  expect([both.status, again.status, ran.map((args) => /"text":"(.)"/.exec(args)?.[1]).toSorted()]).toEqual([
    400,
    200,
    ['a', 'b'],
  ]);
});

it('[T-09] a call runs where one good approval was answered well, and never else', async () => {
  const law = fc.asyncProperty(rounds, async (rounds) => {
    const { ran, ask } = start();
    const waiting = await Promise.all(['a', 'b', 'c'].map((word) => ask(word)));
    const requests = waiting.map(({ body }) => (body.output as readonly JsonObject[]).at(-1) as JsonObject);
    const approved = [0, 0, 0];
    const settled = new Set<number>();
    for (const round of rounds) {
      const replies = await Promise.all(round.map((each) => ask(inputOf(each, requests), each.scope)));
      for (const [index, each] of round.entries()) {
        const isGood = each.scope === 'mine' && each.shown !== 'changed' && !settled.has(each.to);
        // Alone, an answer to what was never asked of this tenant, or is settled, leaves nothing to ask the model.
        if (!each.approve && each.shown === 'not') expect([200, 400]).toContain(replies[index]?.status);
        else if (!each.approve) expect(replies[index]?.status).toBe(200);
        else if (!isGood) expect(replies[index]?.status).toBe(400);
        else if (replies[index]?.status === 200) approved[each.to] = (approved[each.to] ?? 0) + 1;
      }
      // A denial counts, whatever it shows; a good approval was used by one request at least.
      for (const { to, approve, scope, shown } of round)
        if (scope === 'mine' && !(approve && shown === 'changed')) settled.add(to);
    }
    const runs = requests.map(({ arguments: text }) => ran.filter((args) => args === text).length);
    expect(runs).toEqual(approved);
    expect(Math.max(...runs)).toBeLessThanOrEqual(1);
    expect(ran).toHaveLength(runs.reduce((sum, count) => sum + count, 0));
  });
  await fc.assert(law, { numRuns: 200 });
});
