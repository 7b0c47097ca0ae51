/** Long histories are loaded a few at a time, of which a greedy tenant leaves a place to the others. */

import { loadChain } from '../../../src/engine/history/load-chain.ts';
import { memoryStore, type StoredResponse } from '../../../src/index.ts';

it('[G-07] are loaded for another tenant while a greedy one loads as many as it can', async () => {
  const asked: string[] = [];
  let open = () => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const store = {
    ...memoryStore(),
    async chain({ scope }: { readonly scope: string }): Promise<readonly StoredResponse[]> {
      asked.push(scope);
      if (scope === 'greedy') await opened;
      return [];
    },
  };
  const load = (scope: string, id: string) => loadChain(store, { scope, id }, 10, 64 * 1024 * 1024);
  const greedy = Array.from({ length: 3 }, (_, index) => load('greedy', `resp_${index}`));
  const more = Array.from({ length: 20 }, (_, index) => load('greedy', `resp_more_${index}`));
  expect(await load('other', 'resp_1')).toEqual([]);
  expect(asked.at(-1)).toBe('other');
  open();
  await Promise.all([...greedy, ...more]);
});
