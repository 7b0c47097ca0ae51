/** A process that holds the responses which it claims, until it is asked to end: [driver, url, queue name, lockMs]. */
import { bullmqEngine } from '../../src/stores/queues/bullmq/bullmq-engine.ts';
import { untilAborted } from '../../src/testing/engines/engine-case.ts';
import { type HostName, hosts } from '../stores/queues/engine-hosts.ts';

const [driver, url = '', queueName, lockMs] = process.argv.slice(2);
// The cast: the test names one of them.
const host = await hosts[driver as HostName](url);
const engine = bullmqEngine({ ...host.options, queueName, lockMs: Number(lockMs) });

engine.start({
  async run(claimed) {
    process.send?.({ ran: claimed.key.id });
    await untilAborted(claimed);
    process.send?.({ aborted: claimed.key.id });
    // It completes what may no longer be its own.
    return claimed.key.id.startsWith('hand-over') ? 'released' : 'ended';
  },
  onError: (error) => void process.send?.({ error: String(error) }),
});
process.on('message', async (message) => {
  // The cast: the test sends what this process understands.
  const { submit, close } = message as { readonly submit?: string; readonly close?: true };
  if (submit) await engine.submit({ scope: 's', id: submit });
  if (!close) return;
  await engine.close();
  await host.end();
  // Nothing else holds the process now: it ends by itself.
  process.disconnect();
});
process.send?.({ started: true });
