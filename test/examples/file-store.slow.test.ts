/** The example of a store of one's own keeps the contract of all stores. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { storeContract } from 'express-open-responses/testing';
import { fileStore } from '../../examples/express/file-store.ts';

describe('fileStore', () => {
  storeContract({
    describe,
    it,
    conversations: false,
    async create({ ttlMs }) {
      const folder = await mkdtemp(join(tmpdir(), 'file-store-'));
      return {
        store: fileStore(folder, ttlMs === undefined ? {} : { ttlMs }),
        close: () => rm(folder, { recursive: true, force: true }),
      };
    },
  });
});
