/** Containers over both shelves: what outlives a process, what makes way, and what expires. */
import { jest } from '@jest/globals';
import { type ContainersOptions, containers } from '../../../src/containers.ts';
import { type FileStore, type FileUpload, memoryFiles } from '../../../src/files.ts';
import type { ContainerRecord } from '../../../src/ports/containers/container.ts';
import { StoredShelf } from '../../../src/ports/containers/stored-shelf.ts';
import { gate } from '../../support/gate.ts';
import { javascriptRuntime } from '../../tools/code-interpreter/interpreter.ts';

const NEVER = new AbortController().signal;

function setUp(options: Partial<ContainersOptions> = {}) {
  const runtime = javascriptRuntime();
  const kept = containers({ runtime, ...options });
  const run = (id: string, code: string, scope = 's') => kept.run({ scope, id }, code, [], NEVER);
  const names = async (id: string, scope = 's') => (await kept.files({ scope, id })).map(({ name }) => name);
  return { kept, run, names };
}

async function textOf(content: AsyncIterable<Uint8Array> | undefined): Promise<string> {
  const pieces: Uint8Array[] = [];
  for await (const piece of content ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

async function* bytes(text: string) {
  yield Buffer.from(text);
}

describe('a container in a store of files', () => {
  it.each([1, 2, 3, 4, 5])(
    '[E-01] is there when its process was killed at step %i of a change of its terms',
    async (steps) => {
      const storage = memoryFiles();
      const { kept, run } = setUp({ storage });
      await run('cntr_a', "write('a.txt', 'x')");
      const shelf = new StoredShelf(stoppedAfter(storage, steps));
      const [record] = await new StoredShelf(storage).list('s');
      if (record) await Promise.race([shelf.change({ ...record, name: 'new' }), new Promise(setImmediate)]);
      const again = setUp({ storage });
      expect(await again.kept.find({ scope: 's', id: 'cntr_a' })).toMatchObject({ id: 'cntr_a' });
      expect(await again.kept.list('s')).toHaveLength(1);
      await new StoredShelf(storage).change({ ...record, name: 'newer' } as never);
      expect(await again.kept.list('s')).toMatchObject([{ id: 'cntr_a', name: 'newer' }]);
      await Promise.all([kept.close(), again.kept.close()]);
    },
  );
});

it.each([1, 2, 3, 4])(
  '[E-01] a container is always there while two processes change its terms, one of them between the steps of the other: %i',
  async (steps) => {
    const storage = memoryFiles();
    const { kept } = setUp({ storage });
    const { id } = await kept.create('s', { name: 'n' });
    const shelf = new StoredShelf(storage);
    const record = (await shelf.get({ scope: 's', id })) as ContainerRecord;
    const { store, goOn, stopped } = pausedAfter(storage, steps - 1);
    const slow = new StoredShelf(store).change({ ...record, name: 'slow' });
    await stopped;
    const watched = watchedBy(storage, async () => {
      const [found, listed] = [await shelf.get(record), await shelf.list('s')];
      if (!found || listed.length !== 1) throw new Error('It is not there.');
    });
    await new StoredShelf(watched).change({ ...record, name: 'fast' });
    goOn();
    await slow;
    const names = (await shelf.list('s')).map(({ name }) => name);
    expect([names.length, (await shelf.get(record))?.name]).toEqual([1, names[0]]);
    await shelf.delete(record);
    expect(await storage.usage('s')).toEqual({ files: 0, bytes: 0 });
    expect(await shelf.list('s')).toEqual([]);
    await kept.close();
  },
);

it('[E-03] a container that begins anew with the files of a skill lists its files as often for many as for few', async () => {
  const counts: number[] = [];
  for (const count of [2, 20]) {
    const storage = memoryFiles();
    const list = jest.spyOn(storage, 'list');
    const files = Array.from({ length: count }, (_, index) => ({ name: `skill/${index}`, data: Buffer.from('x') }));
    const begin = async () => {
      const { kept } = setUp({ storage });
      await kept.run({ scope: 's', id: 'cntr_a' }, '1', files, NEVER);
      await kept.close();
    };
    await begin();
    list.mockClear();
    await begin();
    counts.push(list.mock.calls.length);
  }
  expect(counts[1]).toBe(counts[0]);
});

/** Calls this after each put and delete. */
function watchedBy(store: FileStore, look: () => Promise<void>): FileStore {
  const after = async <Result>(run: () => Result) => {
    const result = await run();
    await look();
    return result;
  };
  return Object.assign(Object.create(store), {
    put: (upload: FileUpload) => after(() => store.put(upload)),
    delete: (key: Parameters<FileStore['delete']>[0]) => after(() => store.delete(key)),
  });
}

/** Puts and deletes so many times, and then waits until it may go on. */
function pausedAfter(store: FileStore, steps: number) {
  let done = 0;
  const { opened, open: goOn } = gate();
  const { opened: stopped, open: stop } = gate();
  const step = async <Result>(run: () => Result) => {
    done += 1;
    if (done > steps) stop();
    if (done > steps) await opened;
    return run();
  };
  const paused: FileStore = Object.assign(Object.create(store), {
    put: (upload: FileUpload) => step(() => store.put(upload)),
    delete: (key: Parameters<FileStore['delete']>[0]) => step(() => store.delete(key)),
  });
  return { store: paused, goOn, stopped };
}

/** Puts and deletes so many times, and then never answers, as a process that is gone. */
function stoppedAfter(store: FileStore, steps: number): FileStore {
  let done = 0;
  const step = <Result>(run: () => Result) => {
    done += 1;
    return done > steps ? new Promise<never>(() => {}) : run();
  };
  return Object.assign(Object.create(store), {
    put: (upload: FileUpload) => step(() => store.put(upload)),
    delete: (key: Parameters<FileStore['delete']>[0]) => step(() => store.delete(key)),
  });
}

/** Containers whose later runs and uploads end when they may, and all that may look at them. */
function slowSetUp(options: Partial<ContainersOptions>) {
  const runtime = javascriptRuntime();
  const { opened, open } = gate();
  const slow = {
    ...runtime,
    async create(...args: Parameters<typeof runtime.create>) {
      const container = await runtime.create(...args);
      const run: typeof container.run = async (code, signal) => {
        if (code.includes('late')) await opened;
        return container.run(code, signal);
      };
      return Object.assign(Object.create(container), { run });
    },
  };
  const made = setUp({ ...options, runtime: slow });
  async function* after(text: string) {
    await opened;
    yield* bytes(text);
  }
  const looksAt = () => [made.kept, ...(options.storage ? [setUp(options).kept] : [])];
  return { ...made, looksAt, finish: { now: open, after } };
}

describe.each([
  ['in memory', () => ({})],
  ['in a store of files', () => ({ storage: memoryFiles() })],
] as const)('containers %s', (_name, storage) => {
  it('[E-01] keep what code wrote, by tenant and id, with one id for each name', async () => {
    const { kept, run, names } = setUp(storage());
    const { written } = await run('cntr_a', "write('a.txt', 'one'); write('b/c.txt', 'two')");
    await run('cntr_a', "write('a.txt', 'three')");
    await run('cntr_a', "write('z.txt', '')", 't');
    expect([await names('cntr_a'), await names('cntr_a', 't')]).toEqual([['b/c.txt', 'a.txt'], ['z.txt']]);
    const file = (await kept.files({ scope: 's', id: 'cntr_a' })).find(({ name }) => name === 'a.txt');
    expect(file).toMatchObject({ id: written[0]?.id, bytes: 5, source: 'assistant' });
    if (file) expect(await textOf(await kept.readFile({ scope: 's', id: 'cntr_a' }, file))).toBe('three');
    expect(await kept.usage('s')).toMatchObject({ containers: 1, running: 1 });
    await kept.close();
  });

  it('[E-01] take no file where another one needs a folder, or stands where its folder would be', async () => {
    const { kept, run, names } = setUp(storage());
    await run('cntr_a', "write('data/a.txt', 'one')");
    const put = (name: string) =>
      kept.putFile({ scope: 's', id: 'cntr_a' }, { name, source: 'user', content: bytes('x') });
    for (const name of ['data', 'data/a.txt/b.txt'])
      await expect(put(name)).rejects.toMatchObject({ code: 'invalid_value', param: 'file' });
    await put('data.txt');
    expect(await names('cntr_a')).toEqual(['data/a.txt', 'data.txt']);
    await kept.close();
  });

  it('[E-01] list files in the order in which they were written, within one millisecond too', async () => {
    const { kept, run, names } = setUp(storage());
    const now = jest.spyOn(Date, 'now').mockReturnValue(Date.now());
    try {
      const all = ['c', 'a', 'd', 'b', 'f', 'e'];
      await run('cntr_a', all.map((name) => `write('${name}', 'x');`).join(''));
      expect(await names('cntr_a')).toEqual(all);
    } finally {
      now.mockRestore();
      await kept.close();
    }
  });

  it('[E-03] keep of a skill what its version has, and what code has written, in the same process and in the next', async () => {
    const { kept, run, names } = setUp({ ...storage(), max: 1 });
    const file = (path: string, text: string) => ({ name: `skills/${path}`, data: Buffer.from(text) });
    const versions = [
      [file('maps/SKILL.md', 'one'), file('maps/old.py', '1'), file('mapsets/SKILL.md', 'other')],
      [file('maps/SKILL.md', 'two')],
    ];
    const runWith = (version: number, code = '1') =>
      kept.run({ scope: 's', id: 'cntr_a' }, code, versions[version] ?? [], NEVER);
    const OTHERS = ['skills/maps/notes.txt', 'skills/mapsets/SKILL.md'];
    await runWith(0, "write('skills/maps/notes.txt', 'x')");
    for (const begin of [() => {}, () => run('cntr_b', '1')]) {
      await begin();
      await runWith(1);
      expect((await names('cntr_a')).toSorted()).toEqual(['skills/maps/SKILL.md', ...OTHERS]);
      const { error } = await runWith(1, "read('skills/maps/old.py')");
      expect(error).toBeDefined();
      await begin();
      expect(await runWith(0, "read('skills/maps/SKILL.md') + read('skills/maps/old.py')")).toMatchObject({
        result: 'one1',
      });
    }
    await kept.close();
  });

  it('[E-01] give a process that begins anew the files of the one that made way', async () => {
    const { kept, run } = setUp({ ...storage(), max: 1 });
    await run('cntr_a', "write('a.txt', 'kept'); x = 1");
    await run('cntr_b', '1');
    expect(await run('cntr_a', "read('a.txt') + typeof x")).toMatchObject({
      result: 'keptundefined',
      fresh: true,
      restored: 1,
    });
    await kept.close();
  });

  it('[E-01] end an idle process where the runtime has no place for another, whatever their own bound', async () => {
    const runtime = { ...javascriptRuntime(), maxContainers: 3 };
    const { kept, run } = setUp({ ...storage(), runtime, max: 8, maxPerScope: 8 });
    for (const id of ['cntr_a', 'cntr_b', 'cntr_c', 'cntr_d']) await run(id, '1');
    // It leaves one to the others.
    expect((await kept.usage('s')).running).toBe(2);
    await run('cntr_e', '1', 't');
    expect([(await kept.usage('s')).running, (await kept.usage('t')).running]).toEqual([2, 1]);
    await kept.close();
  });

  it('[E-01] let the longest idle container of a tool make way for a new one, and for files', async () => {
    const { kept, run, names } = setUp({ ...storage(), quota: { containers: 2, bytes: 1000 } });
    for (const id of ['cntr_a', 'cntr_b', 'cntr_c']) await run(id, "write('a.txt', 'x'.repeat(300))");
    expect((await kept.list('s')).map(({ id }) => id)).toEqual(['cntr_b', 'cntr_c']);
    await run('cntr_c', "write('b.txt', 'x'.repeat(650))");
    expect([(await kept.list('s')).map(({ id }) => id), await names('cntr_c')]).toEqual([
      ['cntr_c'],
      ['a.txt', 'b.txt'],
    ]);
    const { unkept, written } = await run('cntr_c', "write('c.txt', 'x'.repeat(400)); write('d.txt', 'd')");
    expect([unkept, written.map(({ name }) => name)]).toEqual([['c.txt'], ['d.txt']]);
    await kept.close();
  });

  it('[E-01] forget the files of what has expired, and begin anew under the same id', async () => {
    const now = jest.spyOn(Date, 'now');
    try {
      const { kept, run } = setUp({ ...storage(), idleMs: 60_000 });
      await run('cntr_a', "write('a.txt', 'x')");
      const at = Date.now();
      now.mockReturnValue(at + 61_000);
      expect(await kept.find({ scope: 's', id: 'cntr_a' })).toMatchObject({ status: 'expired' });
      await expect(kept.files({ scope: 's', id: 'cntr_a' })).rejects.toMatchObject({ code: 'container_expired' });
      expect(await run('cntr_a', 'names()')).toMatchObject({ result: '', fresh: true, restored: 0 });
      expect(await kept.find({ scope: 's', id: 'cntr_a' })).toMatchObject({ status: 'running' });
      await kept.close();
    } finally {
      now.mockRestore();
    }
  });

  it('[E-01] do not expire while code runs or a file arrives, in whichever process they are looked at', async () => {
    const { kept, run, names, looksAt, finish } = slowSetUp({ ...storage(), idleMs: 60_000 });
    await run('cntr_a', "write('a.txt', 'x')");
    jest.useFakeTimers();
    try {
      const key = { scope: 's', id: 'cntr_a' };
      const running = run('cntr_a', "'late'");
      const uploading = kept.putFile(key, { name: 'b.txt', source: 'user', content: finish.after('y') });
      await jest.advanceTimersByTimeAsync(150_000);
      for (const each of looksAt()) expect(await each.list('s')).toMatchObject([{ status: 'running' }]);
      finish.now();
      expect(await running).toMatchObject({ result: 'late', error: undefined });
      await uploading;
      expect(await names('cntr_a')).toEqual(['a.txt', 'b.txt']);
      await jest.advanceTimersByTimeAsync(120_000);
      expect(await kept.find(key)).toMatchObject({ status: 'expired' });
    } finally {
      jest.useRealTimers();
      await kept.close();
    }
  });

  it('[E-01] end what runs in a container that is removed, and keep nothing of it', async () => {
    const { kept, run } = setUp(storage());
    const running = run('cntr_a', 'hang()').catch(() => 'ended');
    const key = { scope: 's', id: 'cntr_a' };
    while (!(await kept.find(key))) await new Promise(setImmediate);
    expect([await kept.remove(key), await kept.remove(key), await kept.find(key)]).toEqual([true, false, undefined]);
    await kept.close();
    void running;
  });

  it('[E-01] keep no more in one container than a new process has room for', async () => {
    const { kept, run, names } = setUp({ ...storage(), quota: { containerBytes: 100 } });
    const key = await kept.create('s', { name: 'n' });
    const put = (name: string, text: string) => kept.putFile(key, { name, source: 'user', content: bytes(text) });
    await put('a', 'x'.repeat(60));
    await expect(put('b', 'x'.repeat(60))).rejects.toMatchObject({ code: 'file_quota_exceeded' });
    await put('a', 'x'.repeat(70));
    expect(await run(key.id, "write('c', 'x'.repeat(40)); write('d', 'd')")).toMatchObject({ unkept: ['c'] });
    expect(await names(key.id)).toEqual(['a', 'd']);
    await kept.close();
  });

  it('[E-01] keep nothing that code writes into a container which is deleted meanwhile, and let no other make way for it', async () => {
    const runtime = javascriptRuntime();
    let goOn = () => {};
    const deleted = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const slow = {
      ...runtime,
      async create(...args: Parameters<typeof runtime.create>) {
        const container = await runtime.create(...args);
        const run: typeof container.run = async (code, signal) => {
          const result = await container.run(code, signal);
          if (code.includes('late')) await deleted;
          return result;
        };
        return { ...container, run, alive: true };
      },
    };
    const { kept, run, names } = setUp({ ...storage(), runtime: slow });
    await run('cntr_idle', "write('a', 'x')");
    const late = run('cntr_a', "write('late', 'x')");
    const key = { scope: 's', id: 'cntr_a' };
    while (!(await kept.find(key))) await new Promise(setImmediate);
    await kept.remove(key);
    goOn();
    await late.catch(() => {});
    expect([await names('cntr_idle'), await kept.find(key), (await kept.usage('s')).files]).toEqual([
      ['a'],
      undefined,
      1,
    ]);
    await kept.close();
  });

  it.each(['../a', 'a/../b', '/a', 'a//b', 'a\\b', '', '.', 'a\nb', 'a'.repeat(2000)])(
    '[E-01] take no file named %j',
    async (name) => {
      const { kept } = setUp(storage());
      const key = await kept.create('s', { name: 'n' });
      await expect(kept.putFile(key, { name, source: 'user', content: bytes('x') })).rejects.toMatchObject({
        code: 'invalid_value',
      });
      await kept.close();
    },
  );

  it('[E-01] keep nothing of an upload into a container which is deleted meanwhile, and say so', async () => {
    const { kept, finish } = slowSetUp(storage());
    const key = await kept.create('s', { name: 'n' });
    const uploading = kept.putFile(key, { name: 'a', source: 'user', content: finish.after('x') });
    await kept.remove(key);
    finish.now();
    await expect(uploading).rejects.toMatchObject({ code: 'container_not_found' });
    expect(await kept.usage('s')).toEqual({ containers: 0, running: 0, files: 0, bytes: 0 });
    await kept.close();
  });

  it('[E-01] keep one of several files of a name that are uploaded at once', async () => {
    const { kept, finish } = slowSetUp(storage());
    const key = await kept.create('s', { name: 'n' });
    const upload = (text: string) => kept.putFile(key, { name: 'a', source: 'user', content: finish.after(text) });
    const uploading = ['x', 'yy', 'zzz'].map(upload);
    finish.now();
    await Promise.all(uploading);
    const [file, ...others] = await kept.files(key);
    expect([others, (await kept.usage('s')).bytes]).toEqual([[], file?.bytes]);
    await kept.close();
  });

  it('[E-01] keep nothing of an upload that breaks off', async () => {
    const { kept, names } = setUp(storage());
    const key = await kept.create('s', { name: 'n' });
    async function* broken() {
      yield Buffer.from('begin');
      throw new Error('broken');
    }
    await expect(kept.putFile(key, { name: 'a', source: 'user', content: broken() })).rejects.toThrow();
    expect([await names(key.id), await kept.usage('s')]).toEqual([
      [],
      { containers: 1, running: 0, files: 0, bytes: 0 },
    ]);
    await kept.close();
  });

  it('[E-01] store nothing for a tenant that is unknown', async () => {
    const { kept, run } = setUp(storage());
    const { defaultScope } = await import('../../../src/ports/scope.ts');
    const scope = defaultScope(new Headers({ cookie: 'a=b' }));
    expect(await run('cntr_a', "write('a', 'x'); 1", scope)).toMatchObject({ result: '1', written: [] });
    expect([await kept.list(scope), await kept.find({ scope, id: 'cntr_a' })]).toEqual([[], undefined]);
    await expect(kept.create(scope, { name: 'n' })).rejects.toMatchObject({ code: 'tenant_unknown' });
    await kept.close();
  });

  it('[E-01] tell those who watch what ran, until they stop', async () => {
    const { kept, run } = setUp(storage());
    const seen: unknown[] = [];
    const stop = kept.watch((use) => seen.push(use));
    await run('cntr_a', "print('out'); write('a', 'x'); 7");
    await expect(run('cntr_a', 'die()')).rejects.toThrow('memory');
    stop();
    await run('cntr_a', '1');
    expect(seen).toMatchObject([
      { scope: 's', id: 'cntr_a', kind: 'code', stdout: 'out\n', result: '7', error: undefined, files: ['a'] },
      { kind: 'code', input: 'die()', error: expect.stringContaining('memory'), files: [] },
    ]);
    await kept.close();
  });
});

describe('containers in a store of files', () => {
  it('[E-01] outlive the process that made them, with their terms, and are found by others', async () => {
    const storage = memoryFiles();
    const one = setUp({ storage });
    const wanted = { name: 'mine', expiresAfterMs: 3_600_000, memoryLimit: '4g' } as const;
    const made = await one.kept.create('s', wanted);
    await one.run(made.id, "write('a.txt', 'kept')");
    await one.kept.close();
    const two = setUp({ storage });
    expect(await two.kept.find(made)).toMatchObject({ ...wanted, origin: 'client', createdAt: made.createdAt });
    expect(await two.run(made.id, "read('a.txt')")).toMatchObject({ result: 'kept', fresh: true, restored: 1 });
    expect((await two.kept.list('t')).length).toBe(0);
    expect([one.kept.isDurable, await two.kept.remove(made)]).toEqual([true, true]);
    // Nothing of it stays, and none of it was among the tenant's uploaded files.
    expect(await Promise.all(['s', 't'].map((scope) => storage.usage(scope)))).toEqual([
      { files: 0, bytes: 0 },
      { files: 0, bytes: 0 },
    ]);
    await two.kept.close();
  });

  it('[E-01] are shared by two runtimes: each finds the files of the other, and nothing of what is deleted there', async () => {
    const storage = memoryFiles();
    const [one, two] = [setUp({ storage }), setUp({ storage })];
    const key = await one.kept.create('s', { name: 'n' });
    await one.run(key.id, "write('a.txt', 'one')");
    expect(await two.run(key.id, "x = 1; write('b.txt', read('a.txt') + '!')")).toMatchObject({ restored: 1 });
    expect(await one.run(key.id, "read('b.txt')")).toMatchObject({ result: 'one!', fresh: false });
    await one.kept.remove(key);
    expect(await two.run(key.id, 'names() + typeof x')).toMatchObject({ result: 'undefined', fresh: true });
    await Promise.all([one.kept.close(), two.kept.close()]);
  });
});

it('[E-01] code runs with the terms of its request, also where another process has changed them since', async () => {
  const storage = memoryFiles();
  const process = () => {
    const made: unknown[] = [];
    const plain = javascriptRuntime();
    const create: typeof plain.create = (signal, tenant, terms) => {
      made.push(terms?.allowedDomains);
      return plain.create(signal, tenant, terms);
    };
    return { made, ...setUp({ storage, runtime: { ...plain, create, keepsTerms: ['allowedDomains'] } }) };
  };
  const [one, two] = [process(), process()];
  const open = { networkPolicy: { type: 'allowlist', allowedDomains: ['a.example'] } } as const;
  const closed = { networkPolicy: { type: 'disabled' } } as const;
  const run = ({ kept }: typeof one, wanted: typeof open | typeof closed) =>
    kept.run({ scope: 's', id: 'cntr_a' }, '1', [], NEVER, wanted);
  await run(one, open);
  await run(two, closed);
  const again = await run(one, closed);
  expect([one.made, two.made, again.fresh]).toEqual([[['a.example'], undefined], [undefined], true]);
  await Promise.all([one.kept.close(), two.kept.close()]);
});

describe('containers in memory', () => {
  it('[E-01] stay within their bytes, whoever asks for more: what is idle for longest makes way', async () => {
    const { kept, run, names } = setUp({ quota: { memoryBytes: 1000, memoryContainers: 3 } });
    for (const scope of ['a', 'b', 'c', 'd']) await run('cntr_x', "write('a.txt', 'x'.repeat(300))", scope);
    expect(await kept.find({ scope: 'a', id: 'cntr_x' })).toBeUndefined();
    await run('cntr_x', "write('b.txt', 'x'.repeat(300))", 'd');
    expect(await kept.find({ scope: 'b', id: 'cntr_x' })).toBeUndefined();
    expect(await names('cntr_x', 'd')).toEqual(['a.txt', 'b.txt']);
    await kept.close();
  });

  it('[E-01] drop the files of what expires, although nobody asks for it', async () => {
    jest.useFakeTimers();
    try {
      const { kept, run } = setUp({ idleMs: 60_000 });
      await run('cntr_a', "write('a.txt', 'xyz')");
      expect((await kept.usage('s')).bytes).toBe(3);
      await jest.advanceTimersByTimeAsync(120_000);
      expect([(await kept.usage('s')).bytes, jest.getTimerCount()]).toEqual([0, 0]);
      await kept.close();
    } finally {
      jest.useRealTimers();
    }
  });
});
