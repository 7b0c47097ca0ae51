/** Pages of items. */
import fc from 'fast-check';
import { itemPage } from '../../../src/engine/request/item-pages.ts';

const ITEMS = ['a', 'b', 'c', 'd', 'e'].map((id) => ({ type: 'message', id }));

function idsOf(query: Readonly<Record<string, unknown>>, items = ITEMS): readonly unknown[] {
  return (itemPage(items, query).data as readonly { id: string }[]).map(({ id }) => id);
}

describe('page', () => {
  it('[S-13] is a list with its first and last id, newest first', () => {
    expect(itemPage(ITEMS.slice(0, 2), {})).toEqual({
      object: 'list',
      data: [
        { type: 'message', id: 'b' },
        { type: 'message', id: 'a' },
      ],
      first_id: 'b',
      last_id: 'a',
      has_more: false,
    });
  });

  it('[S-13] is whole where there is nothing', () => {
    expect(itemPage([], {})).toEqual({ object: 'list', data: [], first_id: null, last_id: null, has_more: false });
  });

  it.each([
    [{ order: 'asc' }, ['a', 'b', 'c', 'd', 'e']],
    [{ order: 'asc', after: 'b' }, ['c', 'd', 'e']],
    [{ order: 'asc', before: 'b' }, ['a']],
    [{ order: 'asc', after: 'a', before: 'd' }, ['b', 'c']],
    [{ order: 'desc', after: 'b' }, ['a']],
    [{ after: 'e', limit: '2' }, ['d', 'c']],
    [{ after: 'a' }, []],
  ])('[S-13] for %j', (query, ids) => {
    expect(idsOf(query)).toEqual(ids);
  });

  it('[S-13] leads page by page to every item, once', () => {
    fc.assert(
      fc.property(
        fc.nat(30),
        fc.integer({ min: 1, max: 100 }),
        fc.constantFrom('asc', 'desc'),
        (count, limit, order) => {
          const items = Array.from({ length: count }, (_, index) => ({ type: 'message', id: String(index) }));
          const seen: unknown[] = [];
          let query: Readonly<Record<string, unknown>> = { limit: String(limit), order };
          // No more pages than items, so that a page that leads back to itself ends too.
          for (let requested = 0; requested <= count; requested += 1) {
            const { data, last_id: last, has_more: more } = itemPage(items, query);
            seen.push(...(data as readonly unknown[]));
            if (!more) break;
            query = { ...query, after: last };
          }
          expect(seen).toEqual(order === 'asc' ? items : items.toReversed());
        },
      ),
    );
  });

  it.each([
    [{ limit: '0' }, 'invalid_value', 400, 'limit'],
    [{ limit: '101' }, 'invalid_value', 400, 'limit'],
    [{ limit: '1.5' }, 'invalid_value', 400, 'limit'],
    [{ limit: ['1', '2'] }, 'invalid_value', 400, 'limit'],
    [{ order: 'up' }, 'invalid_value', 400, 'order'],
    [{ after: 'x' }, 'item_not_found', 404, 'after'],
    [{ before: ['a'] }, 'item_not_found', 404, 'before'],
  ])('[S-13] refuses %j', (query, code, status, param) => {
    expect(() => itemPage(ITEMS, query)).toThrow(expect.objectContaining({ code, status, param }));
  });
});
