/** The Skills API over real HTTP: skills, their versions and content, and what others try with them. */
import OpenAI, { toFile } from 'openai';
import { fromBuffer } from 'yauzl';
import { type FileStore, memoryFiles } from '../../../src/files.ts';
import { createSkills, skillsRouter } from '../../../src/skills.ts';
import {
  ALICE,
  ask,
  BOB,
  formWith,
  manifest,
  patched,
  type SkillsApp,
  startSkillsApp,
  upload,
  zipOf,
} from './skills-app.ts';

let app: SkillsApp;
let client: OpenAI;

async function start(...options: Parameters<typeof startSkillsApp>): Promise<void> {
  app = await startSkillsApp(...options);
  client = new OpenAI({ baseURL: app.base, apiKey: 'alice', maxRetries: 0 });
}

afterEach(() => app.close());

const SUM = 'import sys\nprint(sum(map(int, sys.argv[1:])))\n';

async function sumsZip(description?: string): Promise<Buffer> {
  return zipOf({ 'sums/SKILL.md': manifest('sums', description), 'sums/scripts/sum.py': SUM });
}

async function created(description?: string): Promise<OpenAI.Skill> {
  return client.skills.create({ files: await toFile(await sumsZip(description), 'sums.zip') });
}

/** The paths in a zip. */
function pathsIn(zip: Buffer): Promise<readonly string[]> {
  return new Promise((resolve, reject) => {
    fromBuffer(zip, (error, archive) => {
      if (error) return reject(error);
      const paths: string[] = [];
      archive.on('entry', ({ fileName }) => paths.push(fileName)).on('end', () => resolve(paths));
    });
  });
}

/** The status, code and field of a refusal. */
async function refusal(answer: Promise<{ status: number; json: { error?: { code?: string; param?: string } } }>) {
  const { status, json } = await answer;
  return [status, json.error?.code, json.error?.param];
}

describe('OpenAI’s client', () => {
  it('[E-03] uploads a skill as a zip, and reads its description from its SKILL.md', async () => {
    await start();
    const skill = await created();
    expect(skill).toEqual({
      id: expect.stringMatching(/^skill_[0-9a-f]{32}$/),
      object: 'skill',
      created_at: expect.any(Number),
      default_version: '1',
      latest_version: '1',
      name: 'sums',
      description: 'Adds numbers.',
    });
    expect(await client.skills.retrieve(skill.id)).toEqual(skill);
  });

  it('[E-03] uploads a folder file by file, and downloads it as a zip', async () => {
    await start();
    const form = formWith([
      ['sums/SKILL.md', manifest()],
      ['sums/scripts/sum.py', SUM],
    ]);
    const { status, json } = await ask(`${app.base}/skills`, { method: 'POST', body: form });
    expect([status, json.name]).toEqual([200, 'sums']);
    const content = await client.skills.content.retrieve(json.id);
    expect(content.headers.get('content-type')).toBe('application/zip');
    expect(await pathsIn(Buffer.from(await content.arrayBuffer()))).toEqual(['SKILL.md', 'scripts/sum.py']);
  });

  it('[E-03] lists skills, newest first, over several pages', async () => {
    await start();
    const made: string[] = [];
    for (const each of ['a', 'b', 'c']) made.push((await created(each)).id);
    const listed: string[] = [];
    for await (const { id } of client.skills.list({ limit: 2 })) listed.push(id);
    expect(listed.toSorted()).toEqual(made.toSorted());
    const [oldest] = (await client.skills.list({ order: 'asc', limit: 1 })).data;
    expect(listed.at(-1)).toBe(oldest?.id);
  });

  it('[E-03] adds versions, of which one is the default, and deletes others', async () => {
    await start();
    const { id } = await created('one');
    const files = await toFile(await sumsZip('two'), 'sums.zip');
    const second = await client.skills.versions.create(id, { files });
    expect(second).toEqual({
      id: expect.stringMatching(/^skillver_/),
      object: 'skill.version',
      created_at: expect.any(Number),
      skill_id: id,
      version: '2',
      name: 'sums',
      description: 'two',
    });
    const third = await client.skills.versions.create(id, {
      files: await toFile(await sumsZip('three'), 'z'),
      default: true,
    });
    expect(await client.skills.retrieve(id)).toMatchObject({
      default_version: '3',
      latest_version: '3',
      description: 'three',
    });
    await client.skills.update(id, { default_version: '2' });
    expect(await client.skills.retrieve(id)).toMatchObject({ default_version: '2', description: 'two' });
    expect(await client.skills.versions.delete('3', { skill_id: id })).toEqual({
      ...{ id: third.id, object: 'skill.version.deleted', deleted: true, version: '3' },
    });
    const versions: string[] = [];
    for await (const { version } of client.skills.versions.list(id, { order: 'asc', limit: 1 })) versions.push(version);
    expect(versions).toEqual(['1', '2']);
    const content = await client.skills.versions.content.retrieve('1', { skill_id: id });
    expect((await pathsIn(Buffer.from(await content.arrayBuffer()))).length).toBe(2);
    // The number of a deleted version is not used again.
    expect((await client.skills.versions.create(id, { files: await toFile(await sumsZip(), 'z') })).version).toBe('4');
  });

  it('[E-03] refuses to delete the default version, and unknown ones', async () => {
    await start();
    const { id } = await created();
    const path = `${app.base}/skills/${id}/versions`;
    expect(await refusal(ask(`${path}/1`, { method: 'DELETE' }))).toEqual([400, 'invalid_value', 'version']);
    expect(await refusal(ask(`${path}/7`, { method: 'DELETE' }))).toEqual([404, 'skill_not_found', 'version']);
    expect(await refusal(ask(`${path}/7`))).toEqual([404, 'skill_not_found', 'version']);
    const json = { method: 'POST', headers: { ...ALICE, 'content-type': 'application/json' } };
    const url = `${app.base}/skills/${id}`;
    expect(await refusal(ask(url, { ...json, body: '{"default_version":"9"}' }))).toEqual([
      404,
      'skill_not_found',
      'default_version',
    ]);
    expect(await refusal(ask(url, { ...json, body: '{}' }))).toEqual([
      400,
      'missing_required_parameter',
      'default_version',
    ]);
  });

  it('[E-03] deletes a skill with all that is stored of it', async () => {
    const files = memoryFiles();
    await start({}, files);
    const { id } = await created();
    await client.skills.versions.create(id, { files: await toFile(await sumsZip(), 'z') });
    expect(await client.skills.delete(id)).toEqual({ id, object: 'skill.deleted', deleted: true });
    expect(await refusal(ask(`${app.base}/skills/${id}`))).toEqual([404, 'skill_not_found', 'skill_id']);
    expect(await refusal(ask(`${app.base}/skills/${id}`, { method: 'DELETE' }))).toEqual([
      404,
      'skill_not_found',
      'skill_id',
    ]);
    expect((await client.skills.list()).data).toEqual([]);
  });
});

it('[E-03] shows no skill, version or text to another tenant', async () => {
  await start();
  const { id } = await created();
  const paths = ['', '/content', '/versions', '/versions/1', '/versions/1/content'];
  const answers = paths.map((path) => refusal(ask(`${app.base}/skills/${id}${path}`, { headers: BOB })));
  for (const answer of await Promise.all(answers)) expect(answer).toEqual([404, 'skill_not_found', 'skill_id']);
  expect((await ask(`${app.base}/skills`, { headers: BOB })).json.data).toEqual([]);
  const change = {
    method: 'POST',
    headers: { ...BOB, 'content-type': 'application/json' },
    body: '{"default_version":"1"}',
  };
  expect(await refusal(ask(`${app.base}/skills/${id}`, change))).toEqual([404, 'skill_not_found', 'skill_id']);
  const body = formWith([['z', await sumsZip()]]);
  const version = { method: 'POST', headers: BOB, body };
  expect(await refusal(ask(`${app.base}/skills/${id}/versions`, version))).toEqual([
    404,
    'skill_not_found',
    'skill_id',
  ]);
  expect(await refusal(ask(`${app.base}/skills/${id}`, { method: 'DELETE', headers: BOB }))).toEqual([
    404,
    'skill_not_found',
    'skill_id',
  ]);
  await expect(app.skills.find({ scope: 'bob', id }, 'skill_id')).rejects.toMatchObject({ code: 'skill_not_found' });
});

it('[E-03] keeps every version that is added at the same time, here and in another process', async () => {
  const files = memoryFiles();
  await start({ uploads: 8 }, files);
  const other = await startSkillsApp({ uploads: 8 }, files);
  const { id } = await created();
  const zip = await sumsZip();
  const bases = [app.base, other.base, app.base, other.base, app.base, other.base];
  const answers = await Promise.all(
    bases.map((base) => ask(`${base}/skills/${id}/versions`, { method: 'POST', body: formWith([['z', zip]]) })),
  );
  await other.close();
  expect(answers.map(({ status }) => status)).toEqual(bases.map(() => 200));
  expect(answers.map(({ json }) => Number(json.version)).toSorted()).toEqual([2, 3, 4, 5, 6, 7]);
  const { data } = await client.skills.versions.list(id, { order: 'asc' });
  expect(data.map(({ version }) => version)).toEqual(['1', '2', '3', '4', '5', '6', '7']);
});

/** The store, whose next two changes of a skill wait for each other before either is written. */
function meeting(files: FileStore): FileStore & { begin(): void } {
  let waiting: (() => void)[] | undefined;
  return {
    name: files.name,
    get: (key) => files.get(key),
    read: (key, range) => files.read(key, range),
    list: (scope, query) => files.list(scope, query),
    delete: (key) => files.delete(key),
    usage: (scope) => files.usage(scope),
    async put(upload) {
      const others = upload.details().contentType === 'application/json' ? waiting : undefined;
      if (others) await new Promise<void>((resolve) => void (others.push(resolve) === 2 && goOn(others)));
      return files.put(upload);
    },
    begin() {
      waiting = [];
    },
  };
  function goOn(others: readonly (() => void)[]): void {
    waiting = undefined;
    for (const resolve of others) resolve();
  }
}

it('[E-03] gives two versions that two processes add at one moment numbers of their own', async () => {
  const files = meeting(memoryFiles());
  await start({}, files);
  const other = await startSkillsApp({}, files);
  const { id } = await created();
  const zip = await sumsZip();
  files.begin();
  const answers = await Promise.all(
    [app.base, other.base].map((base) =>
      ask(`${base}/skills/${id}/versions`, { method: 'POST', body: formWith([['z', zip]]) }),
    ),
  );
  await other.close();
  expect(answers.map(({ json }) => json.version).toSorted()).toEqual(['2', '3']);
  const { data } = await client.skills.versions.list(id, { order: 'asc' });
  expect(data.map(({ version }) => version)).toEqual(['1', '2', '3']);
});

describe('a skill that is none', () => {
  const text = manifest();
  const cases: Readonly<Record<string, () => Promise<Buffer>>> = {
    'a path out of its folder': async () =>
      patched(await zipOf({ 'SKILL.md': text, 'xx/evil': '' }), 'xx/evil', '../evil'),
    'an absolute path': async () =>
      patched(await zipOf({ 'SKILL.md': text, 'xetc/evil': '' }), 'xetc/evil', '/etc/evil'),
    'a path of Windows': async () => patched(await zipOf({ 'SKILL.md': text, 'xx/evil': '' }), 'xx/evil', 'C:\\evil'),
    'an empty part of a path': async () =>
      patched(await zipOf({ 'SKILL.md': text, 'a/b/evil': '' }), 'a/b/evil', 'a///evil'),
    'a hidden character in a path': async () =>
      patched(await zipOf({ 'SKILL.md': text, xevil: '' }), 'xevil', '\x1bevil'),
    'a link': () => zipOf({ 'SKILL.md': text, link: { text: '/etc/passwd', mode: 0o120777 } }),
    'a device': () => zipOf({ 'SKILL.md': text, device: { text: '', mode: 0o020666 } }),
    'two files in one place': async () =>
      patched(await zipOf({ 'SKILL.md': text, 'a.txt': '1', 'b.txt': '2' }), 'b.txt', 'a.txt'),
    'a file that is a folder': () => zipOf({ 'SKILL.md': text, a: '', 'a/b': '' }),
    'no SKILL.md': () => zipOf({ 'README.md': text }),
    'a SKILL.md below its folder alone': () => zipOf({ 'a/SKILL.md': text, 'b/file': '' }),
    'two SKILL.md': () => zipOf({ 'SKILL.md': text, 'skill.md': text }),
    'no front matter': () => zipOf({ 'SKILL.md': '# Sums' }),
    'no description': () => zipOf({ 'SKILL.md': '---\nname: sums\n---\n' }),
    'a long name': () => zipOf({ 'SKILL.md': manifest('x'.repeat(65)) }),
    'a long description': () => zipOf({ 'SKILL.md': manifest('sums', 'x'.repeat(1025)) }),
    'a zip that is cut off': async () => (await sumsZip()).subarray(0, 100),
    'a zip with a byte changed': async () => {
      const zip = await zipOf({ 'SKILL.md': text, data: 'x'.repeat(500) });
      zip[40] = (zip[40] ?? 0) ^ 0xff;
      return zip;
    },
    'a text': async () => Buffer.from('PKnothing'),
  };
  it.each(Object.entries(cases))('[E-03] is refused, and leaves nothing behind: %s', async (_, make) => {
    await start();
    expect(await refusal(upload(app.base, await make()))).toEqual([400, 'invalid_skill', 'files']);
    expect((await client.skills.list()).data).toEqual([]);
  });

  it('[E-03] is refused where it is sent file by file', async () => {
    await start();
    for (const path of ['../evil', '/etc/evil', 'a/../../evil', 'a\\evil', `${'x/'.repeat(20)}evil`, 'x'.repeat(300)]) {
      const form = formWith([
        ['SKILL.md', text],
        [path, ''],
      ]);
      expect([path, ...(await refusal(ask(`${app.base}/skills`, { method: 'POST', body: form })))]).toEqual([
        ...[path, 400, 'invalid_skill', 'files'],
      ]);
    }
  });
});

describe('a skill that is too much', () => {
  const limits = { files: 4, fileBytes: 10_000, unpackedBytes: 25_000, uploadBytes: 20_000, skills: 2, versions: 2 };

  it('[E-03] is refused before it is unpacked', async () => {
    await start(limits);
    const text = manifest();
    const long = { 'SKILL.md': text, bomb: '0'.repeat(10_001) };
    const many = { 'SKILL.md': text, a: '', b: '', c: '', d: '' };
    const sum = { 'SKILL.md': text, a: '0'.repeat(9_999), b: '0'.repeat(9_999), c: '0'.repeat(9_999) };
    for (const entries of [long, many, sum])
      expect(await refusal(upload(app.base, await zipOf(entries)))).toEqual([400, 'invalid_skill', 'files']);
  });

  it('[E-03] is refused where its zip lies about the length of a file', async () => {
    await start(limits);
    const zip = await zipOf({ 'SKILL.md': manifest(), bomb: '0'.repeat(1_000_000) });
    const lie = Buffer.from(zip);
    const real = Buffer.alloc(4);
    real.writeUInt32LE(1_000_000);
    for (let at = lie.indexOf(real); at >= 0; at = lie.indexOf(real, at + 1)) lie.writeUInt32LE(50, at);
    expect(lie.equals(zip)).toBe(false);
    expect(await refusal(upload(app.base, lie))).toEqual([400, 'invalid_skill', 'files']);
  });

  it('[E-03] is refused where it is long, or of many files, as it arrives', async () => {
    await start(limits);
    expect(await refusal(upload(app.base, Buffer.alloc(2_000_000)))).toEqual([413, 'file_too_large', 'files']);
    const form = formWith(Array.from({ length: 9 }, (_, index) => [`${index}`, ''] as const));
    expect(await refusal(ask(`${app.base}/skills`, { method: 'POST', body: form }))).toEqual(
      [400, 'invalid_multipart', undefined].map((each) => each ?? null),
    );
  });

  it('[E-03] is refused past the quota of skills, of versions, and of bytes', async () => {
    await start(limits);
    const zip = await sumsZip();
    const first = await upload(app.base, zip);
    await upload(app.base, zip);
    expect(await refusal(upload(app.base, zip))).toEqual([400, 'skill_quota_exceeded', 'files']);
    const version = () =>
      ask(`${app.base}/skills/${first.json.id}/versions`, { method: 'POST', body: formWith([['z', zip]]) });
    expect((await version()).status).toBe(200);
    expect(await refusal(version())).toEqual([400, 'skill_quota_exceeded', 'files']);
    // What was refused has left nothing.
    await client.skills.delete(first.json.id);
    expect((await upload(app.base, zip)).status).toBe(200);
    await app.close();
    await start({ tenantBytes: 100 });
    expect(await refusal(upload(app.base, zip))).toEqual([400, 'file_quota_exceeded', 'file']);
  });

  it('[E-03] is refused without files, and as JSON', async () => {
    await start();
    const form = new FormData();
    form.append('default', 'true');
    expect(await refusal(ask(`${app.base}/skills`, { method: 'POST', body: form }))).toEqual([
      400,
      'missing_required_parameter',
      'files',
    ]);
    const json = { method: 'POST', headers: { ...ALICE, 'content-type': 'application/json' }, body: '{}' };
    expect(await refusal(ask(`${app.base}/skills`, json))).toEqual([415, 'unsupported_media_type', null]);
  });
});

it('[E-03] finds a skill for a container by its version, and reads one that a request brings', async () => {
  await start();
  // The tenant of this key is a digest: the router's own default.
  const skills = createSkills({ files: memoryFiles() });
  app = await (async () => {
    await app.close();
    const { listening } = await import('../../support/listening.ts');
    const { default: express } = await import('express');
    const server = await listening(express().use('/v1', skillsRouter({ skills, scope: () => 'alice' })));
    return { ...server, base: `${server.url}/v1`, skills, files: memoryFiles() };
  })();
  const { json } = await upload(app.base, await sumsZip('one'));
  await ask(`${app.base}/skills/${json.id}/versions`, {
    method: 'POST',
    body: formWith([['z', await sumsZip('two')]]),
  });
  const about = async (version?: string) =>
    (await skills.find({ scope: 'alice', id: json.id, version }, 'tools')).description;
  expect([await about(), await about('latest'), await about('1')]).toEqual(['one', 'two', 'one']);
  await expect(about('3')).rejects.toMatchObject({ code: 'skill_not_found', param: 'tools.version' });
  const wanted = { scope: 'alice', id: json.id, version: '3' };
  await expect((async () => skills.find(wanted, 'skills[0].skill_id'))()).rejects.toMatchObject({
    param: 'skills[0].version',
  });
  const inline = await skills.read(await sumsZip('inline'), 'tools');
  expect([inline.description, inline.files.map(({ path }) => path)]).toEqual([
    'inline',
    ['SKILL.md', 'scripts/sum.py'],
  ]);
  await expect((async () => skills.read(Buffer.from('PK'), 'tools'))()).rejects.toMatchObject({
    code: 'invalid_skill',
  });
});

it('[E-03] says which option is bad, and which package is missing', async () => {
  await start();
  // The casts: hosts without types write these.
  expect(() => createSkills({} as never)).toThrow('createSkills: files is required, got undefined');
  expect(() => createSkills({ files: {} as never })).toThrow(/files must be/);
  expect(() => createSkills({ files: memoryFiles(), quota: { skills: 0 } })).toThrow(
    /quota: skills must be a positive/,
  );
  expect(() => skillsRouter({ skills: {} as never })).toThrow('skills must be made by createSkills()');
});
