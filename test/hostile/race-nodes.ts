/** Two nodes over one store with delayed answers, so that concurrent requests of two clients really collide. */

import { setTimeout as pause } from 'node:timers/promises';
import type { ConversationStore, MaybePromise, ResponseStore } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import { type FakeUpstream, startFakeUpstream, textStream } from '../../src/testing/index.ts';
import { ask, parsed } from '../http/client.ts';
import { type App, startApp } from '../support/app.ts';

/** How many races are run at the same time. */
const AT_ONCE = 50;
const JITTER_MS = 4;

/** Both nodes, and the model server that they share. */
export interface Nodes {
  readonly a: string;
  readonly b: string;
  close(): Promise<void>;
}

/** Starts two nodes, each over its own connection to one database. */
export async function startNodes(stores: readonly [ResponseStore, ResponseStore]): Promise<Nodes> {
  const upstream: FakeUpstream = await startFakeUpstream({ reply: { body: textStream('Hello'), paceMs: 1 } });
  const start = (store: ResponseStore): Promise<App> => startApp({ upstream, options: { store: jittery(store) } });
  const [a, b] = await Promise.all([start(stores[0]), start(stores[1])]);
  return {
    a: a.url,
    b: b.url,
    async close() {
      await Promise.all([a.close(), b.close()]);
      await upstream.close();
    },
  };
}

/** Runs so many races, some at a time; returns their outcomes that are not undefined. */
export async function raced(tries: number, race: () => Promise<string | undefined>): Promise<readonly string[]> {
  const faults: string[] = [];
  let left = tries;
  async function runner(): Promise<void> {
    while (left > 0) {
      left -= 1;
      const fault = await race();
      if (fault) faults.push(fault);
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, runner));
  return faults;
}

/** A random pause. */
export const moment = (ms: number) => pause(Math.random() * ms);

/** A stream in the background: its id at once, and later whether its client saw it complete. */
export async function streamed(url: string): Promise<{ readonly id: string; readonly completed: Promise<boolean> }> {
  const response = await ask(url, { background: true, stream: true });
  // The cast: fetch's body can be iterated in Node.
  const chunks = (response.body as unknown as AsyncIterable<Uint8Array>)[Symbol.asyncIterator]();
  let text = Buffer.from((await chunks.next()).value as Uint8Array).toString();
  const rest = async () => {
    for (let next = await chunks.next(); !next.done; next = await chunks.next()) text += Buffer.from(next.value);
    return text.includes('event: response.completed');
  };
  return { id: /resp_\w+/.exec(text)?.[0] ?? '', completed: rest() };
}

/** Sends JSON, or nothing; returns the status and the body. */
export async function json(url: string, method: string, body?: JsonObject) {
  const headers = { 'content-type': 'application/json' };
  const response = await fetch(url, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  return { status: response.status, body: parsed(await response.text()) };
}

type Method = (...given: readonly unknown[]) => MaybePromise<unknown>;

/** The store as behind a slow network: each method is delayed before and after. */
function jittery(store: ResponseStore): ResponseStore {
  const { conversations } = store;
  return {
    ...delayed(store),
    name: store.name,
    ...(conversations ? { conversations: delayed<ConversationStore>(conversations) } : {}),
  };
}

function delayed<Store extends object>(store: Store): Store {
  const methods = Object.entries(store).filter((entry): entry is [string, Method] => typeof entry[1] === 'function');
  const late = methods.map(([name, method]) => [
    name,
    async (...given: readonly unknown[]) => {
      await moment(JITTER_MS);
      const answer = await method(...given);
      await moment(JITTER_MS);
      return answer;
    },
  ]);
  // The cast: the same methods under the same names, all of which may answer later.
  return Object.fromEntries(late) as Store;
}
