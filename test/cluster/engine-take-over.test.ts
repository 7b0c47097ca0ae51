/** Processes that hold responses and are killed, frozen or closed: another one runs what they held. */
import { type ChildProcess, fork } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import type { BackgroundEngine } from '../../src/ports/background/background-engine.ts';
import { bullmqEngine } from '../../src/stores/queues/bullmq/bullmq-engine.ts';
import { RecordingWorker, untilAborted } from '../../src/testing/engines/engine-case.ts';
import { type EngineDatabase, engineDatabases } from '../stores/queues/engine-databases.ts';
import type { HostConnection } from '../stores/queues/engine-hosts.ts';
import { hostPerSuite } from '../stores/queues/host-per-suite.ts';
import { endWithParent, type Service } from '../support/services.ts';

const LOCK_MS = 1500;

/** A process of the test, and its messages. */
class Holder {
  readonly child: ChildProcess;
  readonly messages: Record<string, unknown>[] = [];
  private errors = '';

  constructor(database: EngineDatabase, url: string, queueName: string) {
    const file = join(import.meta.dirname, 'engine-process.ts');
    this.child = fork(file, [database.name, url, queueName, String(LOCK_MS)], {
      execArgv: ['--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    endWithParent(this.child);
    this.child.on('message', (message) => this.messages.push(message as Record<string, unknown>));
    this.child.stderr?.on('data', (text) => {
      this.errors += text;
    });
  }

  async until(what: string, value: unknown): Promise<void> {
    while (!this.messages.some((message) => message[what] === value)) {
      if (this.child.exitCode !== null) throw new Error(`The process ended: ${this.errors}`);
      await Promise.race([once(this.child, 'message'), once(this.child, 'exit')]);
    }
  }

  async kill(): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }
}

for (const database of engineDatabases)
  database.describe(`bullmqEngine in several processes over ${database.name}`, () => {
    let server: Service;
    let host: HostConnection;
    let queueName: string;
    let engine: BackgroundEngine;
    let holder: Holder;

    hostPerSuite(database, (connected, started) => {
      host = connected;
      server = started;
    });
    beforeEach(async () => {
      queueName = `processes-${randomUUID()}`;
      engine = bullmqEngine({ ...host.options, queueName, lockMs: LOCK_MS });
      holder = new Holder(database, server.url, queueName);
      await holder.until('started', true);
    });
    afterEach(async () => {
      await engine.close();
      await holder.kill();
    });

    it('[X-08] runs what a process held that was killed', async () => {
      const worker = new RecordingWorker();
      holder.child.send({ submit: 'resp_1' });
      await holder.until('ran', 'resp_1');
      engine.start(worker);
      await holder.kill();
      await worker.until(() => worker.finished === 1);
      expect(worker.keys).toEqual([{ scope: 's', id: 'resp_1' }]);
    });

    it('[X-08] aborts what a process held that was frozen until another took it over, and takes nothing of it', async () => {
      const worker = new RecordingWorker(untilAborted);
      holder.child.send({ submit: 'resp_1' });
      await holder.until('ran', 'resp_1');
      engine.start(worker);
      holder.child.kill('SIGSTOP');
      await worker.until(() => worker.running === 1);
      holder.child.kill('SIGCONT');
      await holder.until('aborted', 'resp_1');
      // Whatever the first one answered, the job is the second's: it is no new one, and its lock is renewed.
      holder.child.send({ submit: 'resp_1' });
      await new Promise((resolve) => setTimeout(resolve, 2 * LOCK_MS));
      expect([worker.running, worker.keys.length]).toEqual([1, 1]);
      expect(holder.messages.filter(({ ran }) => ran === 'resp_1')).toHaveLength(1);
    });

    it('[X-08] hands over what a process held that closes, which then ends by itself', async () => {
      const worker = new RecordingWorker();
      holder.child.send({ submit: 'hand-over-1' });
      await holder.until('ran', 'hand-over-1');
      engine.start(worker);
      const exited = once(holder.child, 'exit');
      holder.child.send({ close: true });
      await worker.until(() => worker.finished === 1);
      expect(await exited).toEqual([0, null]);
      expect(holder.messages.filter(({ error }) => error)).toEqual([]);
    });
  });
