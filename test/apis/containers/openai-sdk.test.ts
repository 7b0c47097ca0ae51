/** OpenAI's own client on containers, over real HTTP, and what a model's code leaves there. */
import { jest } from '@jest/globals';
import { says } from '../../engine/tools/support.ts';
import { ASKING, runs } from '../../tools/code-interpreter/interpreter.ts';
import { type ContainersApp, startContainersApp, textFile } from './containers-app.ts';

let app: ContainersApp;

beforeEach(async () => {
  app = await startContainersApp();
});

afterEach(() => app.close());

const make = (more = {}) => app.client.containers.create({ name: 'work', ...more });

/** A response in which the model runs the code, and then says something. */
async function runCode(code: string, { answer = 'Done.', container = { type: 'auto' } as unknown, more = {} } = {}) {
  app.fake.reply(runs(code), says(answer));
  const tools = [{ type: 'code_interpreter', container }];
  // The cast: tests also send what the client's types do not know.
  const body = { ...ASKING, model: 'm', input: 'Go.', tools, ...more } as never;
  const response = (await app.client.responses.create(body)) as {
    readonly id: string;
    // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
    readonly output: readonly any[];
  };
  const call = response.output.find(({ type }) => type === 'code_interpreter_call');
  // biome-ignore lint/suspicious/noExplicitAny: tests read what they expect
  const logs = (call?.outputs ?? []).map(({ logs: text }: any) => text).join('\n');
  return { response, call, logs, message: response.output.find(({ type }) => type === 'message') };
}

async function textOf(container_id: string, file: string): Promise<string> {
  return (await app.client.containers.files.content.retrieve(file, { container_id })).text();
}

async function pathsIn(container: string): Promise<readonly string[]> {
  const paths: string[] = [];
  for await (const { path } of app.client.containers.files.list(container, { order: 'asc' })) paths.push(path);
  return paths;
}

describe('OpenAI’s client', () => {
  it('[E-01] makes, finds, lists and deletes a container', async () => {
    const container = await make({ expires_after: { anchor: 'last_active_at', minutes: 7 }, memory_limit: '4g' });
    expect(container).toEqual({
      id: expect.stringMatching(/^cntr_[0-9a-f]{32}$/),
      object: 'container',
      created_at: expect.any(Number),
      status: 'running',
      expires_after: { anchor: 'last_active_at', minutes: 7 },
      last_active_at: expect.any(Number),
      memory_limit: '4g',
      network_policy: { type: 'disabled' },
      name: 'work',
    });
    expect(await app.client.containers.retrieve(container.id)).toEqual(container);
    const others = [await make({ name: 'b' }), await make({ name: 'c' })];
    const listed: string[] = [];
    for await (const { id } of app.client.containers.list({ limit: 2, order: 'asc' })) listed.push(id);
    expect(listed).toEqual([container, ...others].map(({ id }) => id));
    expect((await app.client.containers.list({ name: 'b' })).data.map(({ id }) => id)).toEqual([others[0]?.id]);
    await app.client.containers.delete(container.id);
    for (const call of ['delete', 'retrieve'] as const)
      await expect(app.client.containers[call](container.id)).rejects.toMatchObject({
        status: 404,
        code: 'container_not_found',
      });
  });

  it('[E-01] uploads, lists, reads and deletes files of a container', async () => {
    const { id } = await make();
    const file = await app.client.containers.files.create(id, { file: await textFile('a,b\n1,2\n', 'täble.csv') });
    expect(file).toEqual({
      id: expect.stringMatching(/^cfile_[0-9a-f]{32}$/),
      object: 'container.file',
      created_at: expect.any(Number),
      bytes: 8,
      container_id: id,
      path: '/mnt/data/täble.csv',
      source: 'user',
    });
    expect(await app.client.containers.files.retrieve(file.id, { container_id: id })).toEqual(file);
    expect(await textOf(id, file.id)).toBe('a,b\n1,2\n');
    await app.client.containers.files.create(id, { file: await textFile('x', 'other.txt') });
    expect(await pathsIn(id)).toEqual(['/mnt/data/täble.csv', '/mnt/data/other.txt']);
    await app.client.containers.files.delete(file.id, { container_id: id });
    expect(await pathsIn(id)).toEqual(['/mnt/data/other.txt']);
    await expect(app.client.containers.files.retrieve(file.id, { container_id: id })).rejects.toMatchObject({
      status: 404,
      code: 'file_not_found',
    });
  });

  it('[E-01] copies uploaded files into a container, by JSON, by form and as it is made', async () => {
    const uploads = [];
    for (const text of ['one', 'two'])
      uploads.push(await app.client.files.create({ file: await textFile(text), purpose: 'user_data' }));
    const { id } = await make({ file_ids: uploads.map((file) => file.id) });
    expect(await pathsIn(id)).toEqual(['/mnt/data/data.csv', '/mnt/data/data-2.csv']);
    const empty = await make();
    const copied = await app.client.containers.files.create(empty.id, { file_id: uploads[1]?.id ?? '' });
    expect(await textOf(empty.id, copied.id)).toBe('two');
    const form = new FormData();
    form.set('file_id', uploads[0]?.id ?? '');
    const headers = { authorization: 'Bearer alice' };
    await fetch(`${app.url}/containers/${empty.id}/files`, { method: 'POST', headers, body: form });
    expect(await textOf(empty.id, copied.id)).toBe('one');
  });

  it('[E-04] hands files to the model’s code, and fetches those that it wrote', async () => {
    const { id } = await make();
    await app.client.containers.files.create(id, { file: await textFile('21', 'in.txt') });
    const answer = 'Here: [the sum](sandbox:/mnt/data/out/sum.txt), not /mnt/data/none.txt.';
    const code = "write('out/sum.txt', String(2 * read('in.txt'))); print('ok')";
    const { call, message, logs } = await runCode(code, { answer, container: id });
    expect([call.container_id, logs, 'files' in call]).toEqual([id, 'ok\nFiles written: out/sum.txt', false]);
    const [{ text, annotations }] = message.content;
    expect(annotations).toEqual([
      {
        type: 'container_file_citation',
        container_id: id,
        file_id: expect.stringMatching(/^cfile_/),
        filename: 'sum.txt',
        start_index: text.indexOf('sandbox:'),
        end_index: text.indexOf('),'),
      },
    ]);
    expect(await textOf(annotations[0].container_id, annotations[0].file_id)).toBe('42');
    expect((await app.client.containers.files.retrieve(annotations[0].file_id, { container_id: id })).source).toBe(
      'assistant',
    );
  });

  it('[E-01] finds the container that the code interpreter made, with the files of the conversation', async () => {
    const file_data = `data:text/plain;base64,${Buffer.from('hi').toString('base64')}`;
    const content = [{ type: 'input_file', filename: 'note.txt', file_data }];
    const { call, response } = await runCode("write('a.txt', read('note.txt') + '!')", {
      more: { input: [{ role: 'user', content }] },
    });
    expect(await app.client.containers.retrieve(call.container_id)).toMatchObject({ status: 'running', name: 'auto' });
    expect(await pathsIn(call.container_id)).toEqual(['/mnt/data/note.txt', '/mnt/data/a.txt']);
    const { data } = await app.client.containers.files.list(call.container_id, { order: 'asc' });
    expect(data.map(({ source }) => source)).toEqual(['user', 'assistant']);
    // A later answer may link to it, too.
    const later = await runCode('1', { answer: '/mnt/data/a.txt', more: { previous_response_id: response.id } });
    expect(later.message.content[0].annotations).toMatchObject([
      { type: 'container_file_citation', file_id: data[1]?.id },
    ]);
    expect(await textOf(call.container_id, data[1]?.id ?? '')).toBe('hi!');
  });

  it('[E-01] shows the code what a client uploads and deletes between two runs, and the client what code removes', async () => {
    const { id } = await make();
    await runCode("write('a.txt', 'a'); write('b.txt', 'b')", { container: id });
    const files = (await app.client.containers.files.list(id, { order: 'asc' })).data;
    await app.client.containers.files.delete(files[0]?.id ?? '', { container_id: id });
    await app.client.containers.files.create(id, { file: await textFile('new', 'b.txt') });
    const { logs } = await runCode("print(names(), read('b.txt')); remove('b.txt')", { container: id });
    expect([logs, await pathsIn(id)]).toEqual(['b.txt new', []]);
  });

  it('[E-01] gives a container its files back where its process has died', async () => {
    const first = await runCode("write('a.txt', 'kept'); x = 1");
    const { call } = await runCode('die()', { more: { previous_response_id: first.response.id } });
    expect(call.status).toBe('failed');
    const { logs } = await runCode("print(typeof x, read('a.txt'))", {
      more: { previous_response_id: first.response.id },
    });
    expect(logs).toBe('(The container is new: earlier variables are gone; its files are there again.)\nundefined kept');
  });

  it('[E-01] gets OpenAI’s error for a container whose time is over, and sees that it has expired', async () => {
    const now = jest.spyOn(Date, 'now');
    try {
      const { id } = await make({ expires_after: { anchor: 'last_active_at', minutes: 5 } });
      const file = await app.client.containers.files.create(id, { file: await textFile('x') });
      const at = Date.now();
      now.mockReturnValue(at + 4 * 60_000);
      expect((await app.client.containers.retrieve(id)).status).toBe('running');
      now.mockReturnValue(at + 5 * 60_000 + 60_000);
      expect((await app.client.containers.retrieve(id)).status).toBe('expired');
      const expired = { status: 400, code: 'container_expired', error: { message: 'Container is expired.' } };
      await expect(app.client.containers.files.list(id)).rejects.toMatchObject(expired);
      await expect(textOf(id, file.id)).rejects.toMatchObject(expired);
      await expect(app.client.containers.files.create(id, { file: await textFile('x') })).rejects.toMatchObject(
        expired,
      );
      await expect(runCode('1', { container: id })).rejects.toMatchObject(expired);
    } finally {
      now.mockRestore();
    }
  });
});

describe('another tenant', () => {
  it('[E-01] finds neither the container nor its files, and cannot run code there', async () => {
    const { id } = await make();
    const file = await app.client.containers.files.create(id, { file: await textFile('secret') });
    const { containers, responses } = app.other;
    const missing = { status: 404, code: 'container_not_found' };
    await expect(containers.retrieve(id)).rejects.toMatchObject(missing);
    await expect(containers.delete(id)).rejects.toMatchObject(missing);
    await expect(containers.files.list(id)).rejects.toMatchObject(missing);
    await expect(containers.files.create(id, { file: await textFile('x') })).rejects.toMatchObject(missing);
    await expect(containers.files.retrieve(file.id, { container_id: id })).rejects.toMatchObject(missing);
    await expect(containers.files.content.retrieve(file.id, { container_id: id })).rejects.toMatchObject(missing);
    await expect(containers.files.delete(file.id, { container_id: id })).rejects.toMatchObject(missing);
    expect((await containers.list()).data).toEqual([]);
    const tools = [{ type: 'code_interpreter' as const, container: id }];
    await expect(responses.create({ model: 'm', input: 'Go.', tools })).rejects.toMatchObject({
      status: 400,
      code: 'container_not_found',
    });
    // A file of another container of its own is not found in this one either.
    const own = await containers.create({ name: 'own' });
    await expect(containers.files.retrieve(file.id, { container_id: own.id })).rejects.toMatchObject({ status: 404 });
  });
});
