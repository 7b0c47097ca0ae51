/** What the API of containers refuses, and that nothing of it stays. */

import { containers, containersApi, containersRouter } from '../../../src/containers.ts';
import { openResponses } from '../../../src/index.ts';
import { codeInterpreter } from '../../../src/tools/code-interpreter/index.ts';
import { javascriptRuntime } from '../../tools/code-interpreter/interpreter.ts';
import { ask, askJson, type ContainersApp, startContainersApp, textFile } from './containers-app.ts';

let app: ContainersApp;

beforeEach(async () => {
  app = await startContainersApp({
    quota: { containers: 3, bytes: 100, files: 3, fileBytes: 60, expiryMinutes: 30 },
  });
});

afterEach(() => app.close());

const names = async () => (await app.client.containers.list()).data.map(({ name }) => name);

describe('POST /containers', () => {
  it.each<readonly [string, unknown, string, string]>([
    ['no name', {}, 'missing_required_parameter', 'name'],
    ['an empty name', { name: '' }, 'invalid_value', 'name'],
    ['a name of 300 characters', { name: 'n'.repeat(300) }, 'string_above_max_length', 'name'],
    ['a name that is no text', { name: 7 }, 'invalid_type', 'name'],
    [
      'another anchor',
      { expires_after: { anchor: 'created_at', minutes: 1 } },
      'invalid_value',
      'expires_after.anchor',
    ],
    [
      'no minutes',
      { expires_after: { anchor: 'last_active_at' } },
      'missing_required_parameter',
      'expires_after.minutes',
    ],
    [
      'no time',
      { expires_after: { anchor: 'last_active_at', minutes: 0 } },
      'integer_below_min_value',
      'expires_after.minutes',
    ],
    [
      'too much time',
      { expires_after: { anchor: 'last_active_at', minutes: 31 } },
      'integer_above_max_value',
      'expires_after.minutes',
    ],
    ['an unknown amount of memory', { memory_limit: '2g' }, 'invalid_value', 'memory_limit'],
    [
      'a network that the runtime does not have',
      { network_policy: { type: 'allowlist', allowed_domains: ['example.com'] } },
      'unsupported_parameter',
      'network_policy',
    ],
    [
      'secrets for domains',
      {
        network_policy: {
          ...{ type: 'allowlist', allowed_domains: ['example.com'] },
          domain_secrets: [{ domain: 'example.com', name: 'KEY', value: 'hunter2' }],
        },
      },
      'unsupported_parameter',
      'network_policy.domain_secrets',
    ],
    ['an unknown policy', { network_policy: { type: 'open' } }, 'invalid_value', 'network_policy.type'],
    [
      'an empty list of domains',
      { network_policy: { type: 'allowlist', allowed_domains: [] } },
      'invalid_value',
      'network_policy.allowed_domains',
    ],
    [
      'skills where there are none',
      { skills: [{ type: 'skill_reference', skill_id: 's' }] },
      'unsupported_parameter',
      'skills',
    ],
    ['an unknown file', { file_ids: [`file-${'0'.repeat(32)}`] }, 'file_not_found', 'file_ids[0]'],
    ['what is no id', { file_ids: ['../../etc/passwd'] }, 'file_not_found', 'file_ids[0]'],
    [
      'too many files',
      { file_ids: Array.from({ length: 101 }, (_, at) => `f${at}`) },
      'array_above_max_length',
      'file_ids',
    ],
  ])('[E-01] refuses %s', async (_, body, code, param) => {
    const { json } = await askJson(`${app.url}/containers`, {
      name: 'n',
      ...Object(body),
      ...(_ === 'no name' ? { name: undefined } : {}),
    });
    expect(json.error).toMatchObject({ code, param });
    expect(await names()).toEqual([]);
  });

  it('[E-01] refuses more containers than the quota, until one is deleted', async () => {
    const made = [];
    for (const name of ['a', 'b', 'c']) made.push(await app.client.containers.create({ name }));
    await expect(app.client.containers.create({ name: 'd' })).rejects.toMatchObject({
      status: 400,
      code: 'container_quota_exceeded',
    });
    // Another tenant has a quota of its own.
    await app.other.containers.create({ name: 'e' });
    await app.client.containers.delete(made[0]?.id ?? '');
    await app.client.containers.create({ name: 'd' });
    expect(await names()).toEqual(['d', 'c', 'b']);
  });

  it('[E-01] leaves no container behind whose files find no room', async () => {
    const ids = [];
    for (const name of ['a', 'b'])
      ids.push(
        (await app.client.files.create({ file: await textFile('x'.repeat(55), name), purpose: 'user_data' })).id,
      );
    await expect(app.client.containers.create({ name: 'n', file_ids: ids })).rejects.toMatchObject({
      code: 'file_quota_exceeded',
    });
    expect(await names()).toEqual([]);
    const { id } = await app.client.containers.create({ name: 'n' });
    await app.client.containers.files.create(id, { file: await textFile('y'.repeat(60)) });
  });

  it('[E-01] does not know other tenants’ uploaded files', async () => {
    const { id } = await app.other.files.create({ file: await textFile('x'), purpose: 'user_data' });
    await expect(app.client.containers.create({ name: 'n', file_ids: [id] })).rejects.toMatchObject({
      status: 404,
      code: 'file_not_found',
    });
  });
});

describe('POST /containers/{id}/files', () => {
  const into = async () => (await app.client.containers.create({ name: 'n' })).id;

  it.each(['../../etc/passwd', '..\\..\\boot.ini', '/etc/passwd', 'a/../../b', '..', '.', '', 'a\u0000b\nc', 'x/'])(
    '[E-01] keeps a file that calls itself %j below the working directory',
    async (filename) => {
      const id = await into();
      const form = new FormData();
      form.set('file', new Blob(['x']), filename);
      const { status, json } = await ask(`${app.url}/containers/${id}/files`, { body: form });
      if (status === 200) expect(json.path).toMatch(/^\/mnt\/data\/[^/\\]+$/);
      else expect(status).toBe(400);
      expect(json.path ?? '').not.toMatch(/\/\.\.?$/);
    },
  );

  it('[E-01] refuses a file over the bound, more files than the quota and more bytes than the tenant may have', async () => {
    const id = await into();
    const upload = async (text: string, name: string) =>
      app.client.containers.files.create(id, { file: await textFile(text, name) });
    await expect(upload('x'.repeat(61), 'a')).rejects.toMatchObject({ status: 413, code: 'file_too_large' });
    await upload('x'.repeat(60), 'a');
    await expect(upload('x'.repeat(41), 'b')).rejects.toMatchObject({ code: 'file_quota_exceeded' });
    // It takes the place of the first.
    await upload('x'.repeat(50), 'a');
    await upload('b', 'b');
    await upload('c', 'c');
    await expect(upload('d', 'd')).rejects.toMatchObject({ code: 'file_quota_exceeded' });
    const { data } = await app.client.containers.files.list(id);
    expect(data.map(({ bytes }) => bytes)).toEqual([1, 1, 50]);
  });

  it('[E-01] refuses bodies that are neither a form nor JSON with an id', async () => {
    const url = `${app.url}/containers/${await into()}/files`;
    const json = { 'content-type': 'application/json' };
    const codes = [];
    for (const [body, headers] of [
      ['{', json],
      ['[]', json],
      ['{}', json],
      [`{"file_id":"${'x'.repeat(70_000)}"}`, json],
      ['x', { 'content-type': 'text/plain' }],
      [JSON.stringify({ file_id: `file-${'0'.repeat(32)}` }), json],
    ] as const)
      codes.push((await ask(url, { body, headers })).json.error.code);
    codes.push((await ask(url, { body: new FormData() })).json.error.code);
    expect(codes).toEqual([
      'invalid_json',
      'invalid_json',
      'missing_required_parameter',
      'request_too_large',
      'unsupported_media_type',
      'file_not_found',
      'missing_required_parameter',
    ]);
  });

  it.each(['nope', 'cntr_', `cntr_${'x'.repeat(80)}`, '..%2f..%2fetc', 'cntr_%00', `cntr_${'0'.repeat(32)}`])(
    '[E-01] finds no container %s',
    async (id) => {
      for (const [method, path] of [
        ['GET', ''],
        ['DELETE', ''],
        ['GET', '/files'],
        ['GET', '/files/cfile_1'],
        ['GET', '/files/cfile_1/content'],
        ['DELETE', '/files/cfile_1'],
      ] as const) {
        const { status, json } = await ask(`${app.url}/containers/${id}${path}`, { method });
        expect([status, json.error?.code]).toEqual([404, 'container_not_found']);
      }
    },
  );

  it('[E-01] refuses pages that there are not', async () => {
    const id = await into();
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'order=up'])
      expect((await ask(`${app.url}/containers?${query}`, { method: 'GET' })).json.error.code).toBe('invalid_value');
    expect((await ask(`${app.url}/containers?after=cntr_x`, { method: 'GET' })).json.error).toMatchObject({
      code: 'container_not_found',
    });
    expect((await ask(`${app.url}/containers/${id}/files?after=x`, { method: 'GET' })).json.error).toMatchObject({
      code: 'file_not_found',
      param: 'after',
    });
  });

  it('[E-01] answers that the containers are closed', async () => {
    const made = containers({ runtime: javascriptRuntime() });
    const closed = await startContainersApp({ containers: made, runtime: made.runtime });
    const { id } = await closed.client.containers.create({ name: 'n' });
    await made.close();
    const { status, json } = await askJson(`${closed.url}/containers`, { name: 'n' });
    expect([status, json.error.code]).toEqual([503, 'server_draining']);
    expect((await ask(`${closed.url}/containers/${id}/files`, { method: 'GET' })).status).toBe(503);
    await closed.close();
  });
});

describe('the containers of a runtime', () => {
  it('[E-01] are those that were made first, for all that are given the runtime', async () => {
    const runtime = javascriptRuntime();
    const made = containers({ runtime, quota: { containers: 1 } });
    const tools = codeInterpreter({ runtime });
    const api = openResponses<Request>({ tools, apis: [containersApi({ runtime })], logger: false });
    const request = { method: 'POST', headers: { authorization: 'Bearer a', 'content-type': 'application/json' } };
    const statuses = [];
    for (const name of ['a', 'b'])
      statuses.push(
        (await api.fetch(new Request('http://h/containers', { ...request, body: JSON.stringify({ name }) }))).status,
      );
    expect(statuses).toEqual([200, 400]);
    await made.close();
    await api.close();
  });

  it.each<readonly [string, (runtime: ReturnType<typeof javascriptRuntime>) => unknown, string]>([
    [
      'options that come too late',
      (runtime) => [containersRouter({ runtime }), codeInterpreter({ runtime, idleMs: 5 })],
      'codeInterpreter: idleMs comes too late: the containers of this runtime are there already',
    ],
    [
      'options beside containers',
      (runtime) => containersRouter({ containers: containers({ runtime }), max: 3 }),
      'containersRouter: max belongs in containers()',
    ],
    ['nothing', () => containersApi({}), 'containersApi: runtime must be a CodeRuntime, got undefined'],
    [
      'an unknown option',
      (runtime) => containersApi({ runtime, maximum: 1 } as never),
      "containersApi: unknown option 'maximum'",
    ],
    [
      'what are no containers',
      () => containersApi({ containers: {} as never }),
      'containersApi: containers must be made by containers()',
    ],
    [
      'a bad quota',
      (runtime) => containers({ runtime, quota: { bytes: 0 } }),
      'containers: quota: bytes must be a positive whole number, got 0',
    ],
  ])('[E-01] refuse %s', (_, make, message) => {
    expect(() => make(javascriptRuntime())).toThrow(message);
  });
});
