/** What vector stores refuse: bad input, too much of it, and what belongs to others. */
import type { JsonObject } from '../../../src/protocol/record.ts';
import { filledStore, refusalOf, startVectorsApp, textFile, type VectorsApp } from './vectors-app.ts';

let app: VectorsApp;

beforeAll(async () => {
  app = await startVectorsApp({ stores: { quota: { stores: 4, files: 3, batchFiles: 3 } } });
});
afterAll(() => app.close());

async function ask(method: string, path: string, body?: JsonObject, key = 'alice') {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const answer = await fetch(app.url + path, { method, headers, ...(body ? { body: JSON.stringify(body) } : {}) });
  const { error } = (await answer.json()) as {
    readonly error?: { readonly code: string; readonly param: string | null };
  };
  return error ? [answer.status, error.code, error.param] : [answer.status];
}

function nested(depth: number): unknown {
  let filter: unknown = { type: 'eq', key: 'a', value: 1 };
  for (let at = 0; at < depth; at += 1) filter = { type: 'and', filters: [filter] };
  return filter;
}

const LONG = 'x'.repeat(600);
const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']));

describe('what belongs to another tenant', () => {
  it('[X-14] is unknown on every path', async () => {
    const { store, cats } = await filledStore(app.client);
    const batch = await app.client.vectorStores.fileBatches.create(store.id, { file_ids: [cats.id] });
    const of = `/vector_stores/${store.id}`;
    const paths: readonly (readonly [string, string, JsonObject?])[] = [
      ['GET', of],
      ['POST', of, { name: 'mine' }],
      ['DELETE', of],
      ['POST', `${of}/search`, { query: 'cats' }],
      ['POST', `${of}/files`, { file_id: cats.id }],
      ['GET', `${of}/files`],
      ['GET', `${of}/files/${cats.id}`],
      ['POST', `${of}/files/${cats.id}`, { attributes: { a: 1 } }],
      ['DELETE', `${of}/files/${cats.id}`],
      ['GET', `${of}/files/${cats.id}/content`],
      ['POST', `${of}/file_batches`, { file_ids: [cats.id] }],
      ['GET', `${of}/file_batches/${batch.id}`],
      ['POST', `${of}/file_batches/${batch.id}/cancel`, {}],
      ['GET', `${of}/file_batches/${batch.id}/files`],
    ];
    for (const [method, path, body] of paths) {
      const answer = await ask(method, path, body, 'bob');
      expect([method, path, ...answer.slice(0, 1)]).toEqual([method, path, 404]);
    }
    expect(await ask('GET', `/vector_stores?after=${store.id}`, undefined, 'bob')).toEqual([
      404,
      'vector_store_not_found',
      'after',
    ]);
    const own = await app.other.vectorStores.create({ name: 'Bob' });
    expect(await ask('POST', `/vector_stores/${own.id}/files`, { file_id: cats.id }, 'bob')).toEqual([
      404,
      'file_not_found',
      'file_id',
    ]);
    expect(await ask('POST', '/vector_stores', { file_ids: [cats.id] }, 'bob')).toEqual([
      404,
      'file_not_found',
      'file_ids',
    ]);
    expect((await app.other.vectorStores.list()).data.map(({ id }) => id)).toEqual([own.id]);
    expect((await app.client.vectorStores.retrieve(store.id)).file_counts.total).toBe(2);
    await app.client.vectorStores.delete(store.id);
    await app.other.vectorStores.delete(own.id);
  });

  it('[X-14] has no vector stores for a request of an unknown tenant', async () => {
    const answer = await fetch(`${app.url}/vector_stores`, {
      method: 'POST',
      headers: { cookie: 'a=b', 'content-type': 'application/json' },
      body: '{}',
    });
    const { error } = (await answer.json()) as { readonly error: { readonly code: string } };
    expect(error.code).toBe('tenant_unknown');
  });
});

describe('a vector store', () => {
  const bodies: readonly (readonly [string, JsonObject, readonly unknown[]])[] = [
    ['a name that is a number', { name: 1 }, [400, 'invalid_type', 'name']],
    ['a name that is too long', { name: LONG }, [400, 'string_above_max_length', 'name']],
    ['17 notes', { metadata: many(17) }, [400, 'invalid_value', 'metadata']],
    ['a long note', { metadata: { a: LONG } }, [400, 'string_above_max_length', 'metadata.a']],
    [
      'no days',
      { expires_after: { anchor: 'last_active_at', days: 0 } },
      [400, 'integer_below_min_value', 'expires_after.days'],
    ],
    [
      'another anchor',
      { expires_after: { anchor: 'created_at', days: 1 } },
      [400, 'invalid_value', 'expires_after.anchor'],
    ],
    ['four files', { file_ids: ['a', 'b', 'c', 'd'] }, [400, 'array_above_max_length', 'file_ids']],
    ['an unknown file', { file_ids: ['../../etc/passwd'] }, [404, 'file_not_found', 'file_ids']],
    ['another way to cut', { chunking_strategy: { type: 'other' } }, [400, 'invalid_value', 'chunking_strategy.type']],
    [
      'tiny chunks',
      { chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 99, chunk_overlap_tokens: 0 } } },
      [400, 'integer_below_min_value', 'chunking_strategy.static.max_chunk_size_tokens'],
    ],
    [
      'chunks of more overlap than half',
      { chunking_strategy: { type: 'static', static: { max_chunk_size_tokens: 100, chunk_overlap_tokens: 51 } } },
      [400, 'invalid_value', 'chunking_strategy.static'],
    ],
  ];
  it.each(bodies)('[X-14] is not made with %s', async (_, body, refusal) => {
    expect(await ask('POST', '/vector_stores', body)).toEqual(refusal);
  });

  it('[X-14] is not made with more files than a vector store may have', async () => {
    const small = await startVectorsApp({ stores: { quota: { files: 1 } } });
    try {
      const files = await Promise.all(
        ['a', 'b'].map(async (text) =>
          small.client.files.create({ file: await textFile(text), purpose: 'assistants' }),
        ),
      );
      const made = small.client.vectorStores.create({ file_ids: files.map(({ id }) => id) });
      expect(await refusalOf(made)).toEqual([400, 'vector_store_quota_exceeded', null]);
      expect((await small.client.vectorStores.list()).data).toEqual([]);
    } finally {
      await small.close();
    }
  });

  it('[X-14] is not made beyond the limit of a tenant', async () => {
    const made = await Promise.all(Array.from({ length: 4 }, () => app.client.vectorStores.create({})));
    expect(await ask('POST', '/vector_stores', {})).toEqual([400, 'vector_store_quota_exceeded', null]);
    expect(await ask('POST', '/vector_stores', {}, 'carol')).toEqual([200]);
    for (const { id } of made) await app.client.vectorStores.delete(id);
  });
});

describe('what is asked of a vector store', () => {
  const of = (path: string, id: string) => path.replace(':id', id);
  const cases: readonly (readonly [string, string, JsonObject | undefined, readonly unknown[]])[] = [
    ['an empty search', '/:id/search', { query: ' ' }, [400, 'invalid_value', 'query']],
    ['no search', '/:id/search', {}, [400, 'missing_required_parameter', 'query']],
    ['too many queries', '/:id/search', { query: Array(9).fill('a') }, [400, 'array_above_max_length', 'query']],
    ['a long query', '/:id/search', { query: 'x'.repeat(5000) }, [400, 'string_above_max_length', 'query']],
    ['51 results', '/:id/search', { query: 'a', max_num_results: 51 }, [400, 'invalid_value', 'max_num_results']],
    [
      'a filter nested 60 deep',
      '/:id/search',
      { query: 'a', filters: nested(60) },
      [400, 'invalid_value', `filters${'.filters[0]'.repeat(8)}`],
    ],
    ['17 attributes', '/:id/files', { file_id: 'file-1', attributes: many(17) }, [400, 'invalid_value', 'attributes']],
    [
      'a long key',
      '/:id/files',
      { file_id: 'file-1', attributes: { [LONG]: 1 } },
      [400, 'invalid_value', 'attributes'],
    ],
    [
      'an attribute that is a list',
      '/:id/files',
      { file_id: 'file-1', attributes: { a: [] } },
      [400, 'invalid_type', 'attributes.a'],
    ],
    ['a file without an id', '/:id/files', {}, [400, 'missing_required_parameter', 'file_id']],
    ['an unknown file', '/:id/files', { file_id: '../secret' }, [404, 'file_not_found', 'file_id']],
    ['an empty batch', '/:id/file_batches', { file_ids: [] }, [400, 'invalid_value', 'file_ids']],
    ['no batch', '/:id/file_batches', {}, [400, 'missing_required_parameter', 'file_ids']],
    [
      'both kinds of a batch',
      '/:id/file_batches',
      { file_ids: ['a'], files: [{ file_id: 'a' }] },
      [400, 'mutually_exclusive_parameters', 'files'],
    ],
    [
      '10,000 files at once',
      '/:id/file_batches',
      { file_ids: Array(10_000).fill('file-1') },
      [400, 'array_above_max_length', 'file_ids'],
    ],
    ['new attributes of no file', '/:id/files/file-1', { attributes: {} }, [404, 'file_not_found', 'file_id']],
    ['a file in another folder', '/:id/files/..%2F..%2Fx', undefined, [404, 'file_not_found', 'file_id']],
    ['an unknown batch', '/:id/file_batches/vsfb_1', undefined, [404, 'file_batch_not_found', 'batch_id']],
    ['a page of 101', '/:id/files?limit=101', undefined, [400, 'invalid_value', 'limit']],
    ['another order', '/:id/files?order=up', undefined, [400, 'invalid_value', 'order']],
    ['another status', '/:id/files?filter=done', undefined, [400, 'invalid_value', 'filter']],
    ['a page after an unknown file', '/:id/files?after=file-1', undefined, [404, 'file_not_found', 'after']],
  ];
  let id: string;
  beforeAll(async () => {
    ({ id } = await app.client.vectorStores.create({}));
  });
  afterAll(() => app.client.vectorStores.delete(id));

  it.each(cases)('[X-14] is refused as %s', async (_, path, body, refusal) => {
    expect(await ask(body ? 'POST' : 'GET', `/vector_stores${of(path, id)}`, body)).toEqual(refusal);
  });

  it('[X-14] is refused beyond the files that a vector store may have', async () => {
    const files = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (text) =>
        app.client.files.create({ file: await textFile(text), purpose: 'assistants' }),
      ),
    );
    const ids = files.map((file) => file.id);
    await app.client.vectorStores.fileBatches.create(id, { file_ids: ids.slice(0, 3) });
    const more = app.client.vectorStores.files.create(id, { file_id: ids[3] ?? '' });
    expect(await refusalOf(more)).toEqual([400, 'vector_store_quota_exceeded', null]);
    // One that is there takes no further place.
    const again = await app.client.vectorStores.files.create(id, { file_id: ids[0] ?? '' });
    expect(again.id).toBe(ids[0]);
  });
});
