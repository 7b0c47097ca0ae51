/** How long a stream pauses when its node is killed. */
import { setTimeout as pause } from 'node:timers/promises';
import { chatChunk, startFakeUpstream, textStream } from '../../dist/esm/testing/index.js';
import { begin, eventsOf, overEach, startNode, TITLES } from './nodes.mjs';

const DEFAULT_LOCK_MS = 10_000;
const SHORT_LOCK_MS = 1000;
const NEVER = 1e9;
const FIRST = 'Hello';

/** A model that stops after its first word, and answers the second request with the rest. It remembers which node sent the first. */
async function startModel() {
  const askedBy = new Map();
  const model = await startFakeUpstream({
    reply({ headers, body }) {
      const [{ content }] = body.messages;
      if (askedBy.has(content)) return { body: textStream('there') };
      askedBy.set(content, headers.authorization.replace('Bearer ', ''));
      return { body: chatChunk({ content: FIRST }), stallAfterBytes: NEVER };
    },
  });
  return { port: new URL(model.baseURL).port, askedBy, close: () => model.close() };
}

/** Kills the owner of a response while another node streams it; returns the seconds until the stream continues. */
async function oneTry({ start, model, where, lockMs, part }) {
  const queueName = `bench-${lockMs ?? 'default'}-${part}`;
  const names = ['a', 'b'].map((name) => `${queueName}-${name}`);
  const nodes = await Promise.all(
    names.map((name) => startNode(start, model.port, { name, ...where, queueName, lockMs })),
  );
  const id = await begin(nodes[0], { model: 'bench', input: queueName });
  while (!model.askedBy.has(queueName)) await pause(20);
  const owner = nodes.find(({ name }) => name === model.askedBy.get(queueName));
  const seconds = await standstill({ id, owner, other: nodes.find((node) => node !== owner), part, lockMs });
  await Promise.all(nodes.map((node) => node.stop()));
  return seconds;
}

async function standstill({ id, owner, other, part, lockMs = DEFAULT_LOCK_MS }) {
  const events = eventsOf(other, id);
  for (let text = ''; !text.includes(FIRST); ) text += (await events.next()).value;
  // The queue looks for lost responses at fixed intervals: the tries are spread over one of them.
  await pause((part * lockMs) / 2);
  const killed = performance.now();
  await owner.stop();
  const { done } = await events.next();
  const seconds = (performance.now() - killed) / 1000;
  if (done) throw new Error('The stream ended instead of continuing.');
  for await (const _ of events);
  return seconds;
}

/** The tries of one database, at the same time: each has two nodes and a queue of its own. */
async function measured({ start, quick, tries }, where) {
  const rows = [];
  for (const lockMs of quick ? [SHORT_LOCK_MS] : [undefined, SHORT_LOCK_MS]) {
    const model = await startModel();
    const parts = Array.from({ length: quick ? 1 : tries }, (_, index) => index / tries);
    const seconds = await Promise.all(parts.map((part) => oneTry({ start, model, where, lockMs, part })));
    await model.close();
    const lock = lockMs ?? `${DEFAULT_LOCK_MS} (the default)`;
    rows.push({ name: `${TITLES[where.database]}, lockMs ${lock}`, values: { seconds } });
  }
  return rows;
}

export const takeOver = {
  about: 'from kill -9 of the node that makes a response to the next event that a client of another node gets',
  async run(bench) {
    const rows = await overEach(bench.databases, (where) => measured(bench, where));
    return { columns: [{ key: 'seconds', title: 'standstill, s', digits: 1 }], rows };
  },
};
