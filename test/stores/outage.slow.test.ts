/** Redis and PostgreSQL taken away from two processes under load: clear errors, then recovery without a restart. */
import { Client } from 'pg';
import { PATIENCE_MS } from '../support/patience.ts';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';
import { itWhere } from '../support/skipping.ts';
import { type Answer, type AppProcess, isBuilt, say, startAppProcess } from './shared-store-app.ts';

const CLIENTS = 20;

function isFine({ status, code }: Answer): boolean {
  return status === 200 && code === undefined;
}

/** Clients that each go on with a chain of their own, in turn on either process, until they are stopped. */
function startLoad(apps: readonly AppProcess[]) {
  const answers: Answer[] = [];
  const last: (Answer | undefined)[] = Array.from({ length: CLIENTS }, () => undefined);
  const waiting = new Set<() => void>();
  let going = true;

  async function client(name: number): Promise<void> {
    let previous: Answer | undefined;
    for (let turn = name; going; turn += 1) {
      const app = apps[turn % apps.length] as AppProcess;
      const answer = await say(app, `Client ${name} speaks.`, previous?.id);
      if (isFine(answer)) previous = answer;
      last[name] = answer;
      answers.push(answer);
      for (const wake of waiting) wake();
      waiting.clear();
    }
  }

  const clients = Promise.all(last.map((_, name) => client(name)));
  return {
    answers,
    last,
    /** Resolves once it is so; asked after each answer. Rejects where it takes too long, with the last answer. */
    async until(isSo: () => boolean): Promise<void> {
      const deadline = performance.now() + PATIENCE_MS;
      while (!isSo()) {
        if (performance.now() > deadline) throw new Error(`It never came so far: ${JSON.stringify(answers.at(-1))}`);
        await new Promise<void>((resolve) => waiting.add(resolve));
      }
    },
    async stop(): Promise<void> {
      going = false;
      await clients;
    },
  };
}

/** How a server is made to accept everything and answer nothing, and how that ends. */
interface Silence {
  begin(server: Service): unknown;
  end(): unknown;
}

function suite(start: () => Promise<Service>, silence: Silence): void {
  // Without the build there is nothing to start; `npm test` builds first.
  const itBuilt = itWhere(isBuilt, 'run `npm run build` first');
  let server: Service;
  let apps: readonly AppProcess[];

  beforeAll(async () => {
    server = await start();
    apps = isBuilt ? await Promise.all([startAppProcess(server.url), startAppProcess(server.url)]) : [];
  }, 120_000);
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.kill()));
    await server?.close();
  });

  /** Runs the outage under load, and answers what the clients got. */
  async function through(begin: () => unknown, end: () => unknown) {
    const load = startLoad(apps);
    const fine = () => load.last.every((answer) => answer && isFine(answer));
    const failed = () => load.last.every((answer) => answer && !isFine(answer));
    try {
      await load.until(fine);
      await begin();
      await load.until(failed);
      await end();
      await load.until(fine);
    } finally {
      await load.stop();
    }
    return load.answers;
  }

  /** The codes of the failures, and which processes live. */
  function summary(answers: readonly Answer[]) {
    const failed = answers.filter((answer) => !isFine(answer));
    return {
      codes: [...new Set(failed.map(({ code }) => code))],
      alive: apps.map(({ process }) => process.exitCode === null && process.signalCode === null),
    };
  }

  const CLEAR = { codes: ['store_error'], alive: [true, true] };

  itBuilt(
    '[P-14] [X-06] answers store_error while the server is stopped, and goes on with the chains when it is back',
    async () => {
      expect(summary(await through(server.stop, server.start))).toEqual(CLEAR);
    },
  );

  itBuilt(
    '[P-14] [X-06] answers store_error while the server is dead, and goes on with the chains when it is back',
    async () => {
      expect(summary(await through(server.kill, server.start))).toEqual(CLEAR);
    },
  );

  itBuilt('[P-14] [X-06] answers store_error while the server stands still and sends nothing', async () => {
    expect(summary(await through(() => silence.begin(server), silence.end))).toEqual(CLEAR);
  });
}

/** The process stands still. */
function frozenRedis(): Silence {
  let frozen: Service | undefined;
  return {
    begin(server) {
      frozen = server;
      frozen.pause();
    },
    end: () => frozen?.resume(),
  };
}

/** Somebody holds a lock on the table: each connection is a process of its own, which one signal would not freeze. */
function lockedPostgres(): Silence {
  let holder: Client | undefined;
  return {
    async begin(server) {
      holder = new Client(server.url);
      await holder.connect();
      await holder.query('BEGIN; LOCK TABLE open_responses_responses');
    },
    end: () => holder?.end(),
  };
}

describeRedis('an outage of Redis', () => suite(() => startRedis({ durable: true }), frozenRedis()));
describePostgres('an outage of PostgreSQL', () => suite(() => startPostgres({ durable: true }), lockedPostgres()));
