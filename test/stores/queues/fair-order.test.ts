/** The priorities by which the jobs of several tenants take turns in a queue that knows priorities alone. */
import { FairOrder } from '../../../src/stores/queues/bullmq/fair-order.ts';

/** A queue as BullMQ's: the lowest priority first, of one priority the oldest. */
function queue(order = new FairOrder()) {
  const jobs: { readonly scope: string; readonly priority: number }[] = [];
  return {
    submit(scope: string) {
      const priority = order.next(scope, jobs[0]?.priority);
      const place = jobs.findIndex((job) => job.priority > priority);
      jobs.splice(place < 0 ? jobs.length : place, 0, { scope, priority });
    },
    claim: () => jobs.shift()?.scope,
    size: () => jobs.length,
    first: () => jobs[0]?.priority,
  };
}

it('[G-07] puts another tenant’s first job behind two of a greedy one’s thousand', () => {
  const { submit, claim } = queue();
  for (let count = 0; count < 1000; count += 1) submit('greedy');
  for (let count = 0; count < 10; count += 1) claim();
  submit('modest');
  expect([claim(), claim(), claim()]).toEqual(['greedy', 'greedy', 'modest']);
});

it('[G-07] goes round between tenants, and lets none wait for ever behind newcomers', () => {
  const { submit, claim } = queue();
  for (let count = 0; count < 4; count += 1) submit('greedy');
  const begun: unknown[] = [];
  for (let count = 0; count < 12; count += 1) {
    submit(`new ${count}`);
    begun.push(claim());
  }
  expect(begun.filter((each) => each === 'greedy')).toHaveLength(4);
});

it('[G-07] holds nothing against a tenant once the queue was empty', () => {
  const { submit, claim, size, first } = queue();
  for (let count = 0; count < 50; count += 1) submit('greedy');
  while (size() > 0) claim();
  submit('modest');
  submit('modest');
  submit('greedy');
  expect([first(), claim(), claim(), claim()]).toEqual([1, 'modest', 'modest', 'greedy']);
});

it('[G-07] sees that the queue was empty meanwhile, and stays within the priorities that there are', () => {
  const order = new FairOrder();
  expect([order.next('a', undefined), order.next('a', 1), order.next('a', 900), order.next('a', 3)]).toEqual([
    1, 2, 901, 4,
  ]);
  expect([order.next('a', 2 ** 21 - 1), order.next('a', 2 ** 21 - 1)]).toEqual([2 ** 21 - 1, 2 ** 21 - 1]);
});
