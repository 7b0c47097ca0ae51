/** A memory store that one tenant fills: the others keep what they have. */
import { memoryStore, type StoredResponse } from '../../src/index.ts';
import { expectLinearWork } from '../support/linear-work.ts';
import { storedResponse } from './stored.ts';

function response(scope: string, id: string, text = ''): StoredResponse {
  return storedResponse(id, { scope, resource: { text } });
}

it('[G-07] [P-16] a greedy tenant’s responses take the places of its own oldest, and not of another’s', () => {
  const store = memoryStore({ maxResponses: 10 });
  for (let count = 0; count < 3; count += 1) store.put(response('modest', `m${count}`));
  for (let count = 0; count < 100; count += 1) store.put(response('greedy', `g${count}`));
  expect([0, 1, 2].map((count) => store.get({ scope: 'modest', id: `m${count}` })?.id)).toEqual(['m0', 'm1', 'm2']);
  expect([92, 93, 99].map((count) => store.get({ scope: 'greedy', id: `g${count}` })?.id)).toEqual([
    undefined,
    'g93',
    'g99',
  ]);
});

it('[G-07] [P-16] a greedy tenant’s bytes take the room of its own, also those of its conversations', () => {
  const store = memoryStore({ maxBytes: 40_000 });
  store.put(response('modest', 'm', 'x'.repeat(1000)));
  store.conversations.put({ scope: 'modest', id: 'c', createdAt: 0, metadata: {} });
  for (let count = 0; count < 100; count += 1) {
    store.put(response('greedy', `g${count}`, 'x'.repeat(1000)));
    store.conversations.put({ scope: 'greedy', id: `c${count}`, createdAt: 0, metadata: {} });
  }
  expect([
    store.get({ scope: 'modest', id: 'm' })?.id,
    store.conversations.get({ scope: 'modest', id: 'c' })?.id,
  ]).toEqual(['m', 'c']);
});

it('[G-07] [P-16] what is put is there, however much others have, and of equal tenants the oldest goes', () => {
  const store = memoryStore({ maxBytes: 10_000 });
  for (let count = 0; count < 40; count += 1) store.put(response(`t${count}`, 'r', 'x'.repeat(500)));
  expect([store.get({ scope: 't0', id: 'r' }), store.get({ scope: 't39', id: 'r' })?.id]).toEqual([undefined, 'r']);
  store.put(response('large', 'r', 'x'.repeat(9000)));
  expect(store.get({ scope: 'large', id: 'r' })?.id).toBe('r');
});

it('[G-07] [P-16] the work grows with what is put alone, however many tenants there are', async () => {
  await expectLinearWork(2000, (size) => {
    const store = memoryStore({ maxResponses: size / 2 });
    for (let count = 0; count < size; count += 1) store.put(response(`t${count}`, 'r'));
  });
});
