/** The file store contract on tenants: none finds, reads, lists, counts or deletes another's files. */
import assert from 'node:assert/strict';
import { freshScope, plainValue } from '../stores/store-case.ts';
import { LOOKALIKES, SEPARATORS } from '../stores/store-scope-cases.ts';
import { assertBytes, assertMissing, bytes, type FileCase, listFileIds, putFile, readContent } from './file-case.ts';

/** What a client may send in the place of an id. */
const ODD_IDS = [
  '',
  '.',
  '..',
  '../x',
  '../../../../etc/passwd',
  '/etc/passwd',
  'C:\\x',
  'a/b',
  '%2e%2e%2f',
  'x\u0000.txt',
  '%',
  '*',
  '\ud800',
  "' OR 1=1 --",
  'x'.repeat(500),
];

/** The cases about tenants. */
export const tenantCases: readonly FileCase[] = [
  {
    name: '[X-14] keeps files of the same id apart by tenant',
    async run({ files }) {
      const [one, other] = [freshScope(), freshScope()];
      const mine = await putFile(files, bytes(50, 1), { scope: one, id: 'file-1' });
      await assertMissing(files, { scope: other, id: 'file-1' });
      const yours = await putFile(files, bytes(60, 2), { scope: other, id: 'file-1' });
      assertBytes(await readContent(files, mine), bytes(50, 1));
      assert.equal(await files.delete(mine), true);
      assertBytes(await readContent(files, yours), bytes(60, 2));
      assert.deepEqual(plainValue(await files.usage(one)), { files: 0, bytes: 0 });
      assert.deepEqual([await listFileIds(files, one), await listFileIds(files, other)], [[], ['file-1']]);
    },
  },
  {
    name: '[X-14] keeps tenants apart whatever separators they contain, and if they only look alike',
    async run({ files }) {
      const base = freshScope();
      const separated = SEPARATORS.flatMap((mark) => [
        [`${base}`, `b${mark}c`],
        [`${base}${mark}b`, 'c'],
      ]);
      const alike = LOOKALIKES.flatMap(([one, other]) => [one, other].map((text) => [`${base}${text}`, 'id']));
      const keys = [...separated, ...alike, [`${base}\ud800`, 'id'], [`${base}\ufffd`, 'id']];
      const distinctKeys = new Map(keys.map(([scope = '', id = '']) => [JSON.stringify([scope, id]), { scope, id }]));
      for (const [index, key] of [...distinctKeys.values()].entries()) await putFile(files, bytes(10, index), key);
      for (const [index, key] of [...distinctKeys.values()].entries())
        assertBytes(await readContent(files, key), bytes(10, index));
    },
  },
  {
    name: '[X-14] refuses another file of an id that the tenant has, and keeps the first with its time',
    async run({ files, clock }) {
      const content = bytes(50, 1);
      const key = await putFile(files, content, { id: 'file-1' });
      const again = { ...key, expiresAt: clock.now() + 60_000 };
      await assert.rejects(async () => putFile(files, bytes(70, 2), again));
      clock.advance(7_200_000);
      // Stores remove at their next chance what has expired.
      await putFile(files, bytes(1), { id: 'file-2' });
      assertBytes(await readContent(files, key), content);
      assert.deepEqual(await listFileIds(files, key.scope), ['file-1']);
      assert.deepEqual(plainValue(await files.usage(key.scope)), { files: 1, bytes: 50 });
      assert.equal(await files.delete(key), true);
      await assertMissing(files, key);
      assert.deepEqual(plainValue(await files.usage(key.scope)), { files: 0, bytes: 0 });
    },
  },
  {
    name: '[X-14] finds nothing under ids that no file has, whatever characters they contain',
    async run({ files }) {
      const { scope } = await putFile(files, bytes(5), { id: 'x' });
      for (const id of ODD_IDS) await assertMissing(files, { scope, id });
      for (const odd of ODD_IDS) await assertMissing(files, { scope: odd, id: 'x' });
    },
  },
];
