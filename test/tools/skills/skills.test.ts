/** Skills as tools: what the model receives of them, and that it reads nothing else. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ToolProvider } from '../../../src/index.ts';
import { skills } from '../../../src/skills.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../../src/testing/index.ts';
import type { CodeRuntime } from '../../../src/tools/code-interpreter/index.ts';
import { startApp } from '../../support/app.ts';
import { askForJson } from '../../support/responses-client.ts';
import { fakeRuntime } from '../code-interpreter/fake-runtime.ts';

let root: string;
let folder: string;

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'skills-'));
  folder = join(root, 'skills');
  skill('pdf', {
    'SKILL.md': '---\nname: pdf\ndescription: "Fills in forms."\n---\n# PDF\nSee ref/forms.md.',
    'ref/forms.md': 'Forms.',
  });
  skill('bare', { 'SKILL.md': 'Just text.' });
  writeFileSync(join(root, 'secret.txt'), 'the secret');
});
afterEach(() => rmSync(root, { recursive: true }));

function skill(name: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    const path = join(folder, name, file);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
}

const { signal } = new AbortController();

async function read(provider: ToolProvider, name: string, file?: string): Promise<string> {
  const call = {
    server: 'skills',
    name,
    arguments: file === undefined ? {} : { file },
    scope: '',
    requestId: '',
    request: undefined,
  };
  const { content } = await provider.call(call, signal);
  return String(content);
}

it('[A-38] has a tool for each folder with a SKILL.md, with its description', async () => {
  skill('no-skill', { 'README.md': 'No.' });
  skill('bad name', { 'SKILL.md': 'No.' });
  skill('.hidden', { 'SKILL.md': 'No.' });
  const tools = await skills({ folder, server: 'know-how' }).list(signal);
  expect(tools.map(({ name, description, server }) => [server, name, description?.split(' Call')[0]])).toEqual([
    ['know-how', 'skill__bare', 'The skill bare.'],
    ['know-how', 'skill__pdf', 'Fills in forms.'],
  ]);
});

it('[A-38] gives the model the instructions, the names of the other files, and those files', async () => {
  const provider = skills({ folder });
  expect(await read(provider, 'skill__pdf')).toMatch(
    /# PDF\nSee ref\/forms\.md\.\n\nOther files of the skill: ref\/forms\.md$/,
  );
  expect(await read(provider, 'skill__bare')).toBe('Just text.\n\n(The skill has no other files.)');
  expect(await read(provider, 'skill__pdf', 'ref/forms.md')).toBe('Forms.');
});

describe('a file that is not the skill’s', () => {
  const outside = [
    '../../secret.txt',
    '../bare/SKILL.md',
    'ref/../../../secret.txt',
    'link.txt',
    'folder/secret.txt',
    'up/secret.txt',
    'SKILL.md\0.png',
    '..',
    '.',
    '',
    'ref',
    'missing.md',
    'pipe',
  ];

  it.each(outside)('[A-38] is not read: %j', async (file) => {
    symlinkSync(join(root, 'secret.txt'), join(folder, 'pdf/link.txt'));
    symlinkSync(root, join(folder, 'pdf/folder'));
    symlinkSync('../..', join(folder, 'pdf/up'));
    execFileSync('mkfifo', [join(folder, 'pdf/pipe')]);
    const error = await read(skills({ folder }), 'skill__pdf', file).catch((thrown: Error) => thrown.message);
    expect(error).toBe(`The skill has no file ${JSON.stringify(file)}.`);
  });

  it('[A-38] is not read by an absolute path, by another name of a skill, or if it is too large or no text', async () => {
    const provider = skills({ folder, maxBytes: 100 });
    skill('pdf', { 'large.txt': 'x'.repeat(101), 'image.png': 'a\0b' });
    const messages = await Promise.all(
      [
        ['skill__pdf', join(root, 'secret.txt')],
        ['skill__..', 'secret.txt'],
        ['skill__../..', 'secret.txt'],
        ['pdf', 'SKILL.md'],
        ['skill__pdf', 'large.txt'],
        ['skill__pdf', 'image.png'],
      ].map(([name = '', file]) => read(provider, name, file).catch(({ message }: Error) => message)),
    );
    expect(messages).toEqual([
      expect.stringMatching(/^The skill has no file/),
      'There is no such skill.',
      'There is no such skill.',
      'There is no such skill.',
      'The file has more than 100 bytes.',
      'The file is not text.',
    ]);
  });

  it('[A-38] is no skill either: a folder whose SKILL.md leads out of it is left out', async () => {
    mkdirSync(join(folder, 'trap'));
    symlinkSync(join(root, 'secret.txt'), join(folder, 'trap/SKILL.md'));
    const tools = await skills({ folder }).list(signal);
    expect(tools.map(({ name }) => name)).toEqual(['skill__bare', 'skill__pdf']);
  });
});

it('[A-38] is off unless a router is given it, and then works in a turn', async () => {
  const fake = await startFakeUpstream();
  const app = await startApp({ upstream: fake, options: { tools: skills({ folder }) } });
  fake.reply(
    { body: toolCallStream([{ id: 'c', name: 'skill__pdf', arguments: '{"file":"ref/forms.md"}' }]) },
    { body: textStream('Done.') },
  );
  const response = await askForJson(app.url);
  await app.close();
  await fake.close();
  expect(JSON.stringify(response.output)).toContain('"output":"Forms."');
});

it('[A-38] sees a new skill after a while, and leaves all out while the folder is not there', async () => {
  const provider = skills({ folder, refreshMs: 1 });
  await provider.list(signal);
  skill('new', { 'SKILL.md': 'New.' });
  await new Promise((resolve) => setTimeout(resolve, 5));
  expect((await provider.list(signal)).map(({ name }) => name)).toContain('skill__new');
  await expect(skills({ folder: join(root, 'nowhere') }).list(signal)).rejects.toThrow('ENOENT');
});

it.each([
  [{ folder: 'skills' }, 'folder must be an absolute path'],
  [{}, 'folder is required'],
  [{ folder: '/', depth: 1 }, "unknown option 'depth'"],
])('[A-38] refuses %j', (options, message) => {
  // The cast: what a host writes need not be type-checked.
  expect(() => skills(options as never)).toThrow(message);
});

describe('[A-38] a skill with a runtime', () => {
  const run = (runtime: CodeRuntime, args: Readonly<Record<string, unknown>>) =>
    skills({ folder, runtime }).call(
      { server: 'skills', name: 'skill__pdf', arguments: args, scope: '', requestId: '', request: undefined },
      signal,
    );

  beforeEach(() => skill('pdf', { 'scripts/fill.py': 'print("filled")', 'data.csv': '1,2' }));

  it('runs a file in a container of its own, beside the files of the skill, and leaves none behind', async () => {
    const runtime = fakeRuntime();
    await run(runtime, { run: 'scripts/fill.py', args: ['a"b', 'é'] });
    const [container] = runtime.made;
    expect([container?.puts, container?.alive]).toEqual([
      ['SKILL.md', 'data.csv', 'forms.md', 'fill.py', 'fill.py'],
      false,
    ]);
    expect(container?.codes.join()).toContain(String.raw`json.loads("[\"fill.py\",\"a\\\"b\",\"\u00e9\"]")`);
  });

  it('runs it without the files that the runtime refuses, and not in a container that is gone', async () => {
    const runtime = fakeRuntime();
    const refusing = (isGone: boolean): CodeRuntime => ({
      ...runtime,
      async create() {
        const container = await runtime.create(signal);
        const put: typeof container.put = async (file) => {
          if (file.name !== 'data.csv') return container.put(file);
          if (isGone) await container.close();
          throw new RangeError('The file is too large.');
        };
        return Object.assign(Object.create(container), { put });
      },
    });
    const args = { run: 'scripts/fill.py' };
    await run(refusing(false), args);
    expect(runtime.made[0]?.puts).toEqual(['SKILL.md', 'forms.md', 'fill.py', 'fill.py']);
    await expect(run(refusing(true), args)).rejects.toThrow('The file is too large.');
  });

  it.each([
    ['another language', { run: 'scripts/fill.sh' }, 'Only Python files'],
    ['a file that is not there', { run: 'none.py' }, 'The skill has no file'],
    ['a file outside of the skill', { run: '../bare/x.py' }, 'The skill has no file'],
    ['no list of arguments', { run: 'scripts/fill.py', args: 'x' }, 'args must be a list'],
  ])('refuses %s', async (_, args, message) => {
    const runtime = fakeRuntime();
    await expect(run(runtime, args)).rejects.toThrow(message);
    expect(runtime.made).toEqual([]);
  });

  it('is announced only there', async () => {
    const [[plain], [running]] = await Promise.all([
      skills({ folder }).list(signal),
      skills({ folder, runtime: fakeRuntime() }).list(signal),
    ]);
    const fields = [plain, running].map((tool) => Object.keys(Object(tool?.parameters?.properties)));
    expect(fields).toEqual([['file'], ['file', 'run', 'args']]);
    const read = await skills({ folder }).call(
      {
        server: 'skills',
        name: 'skill__pdf',
        arguments: { run: 'scripts/fill.py' },
        scope: '',
        requestId: '',
        request: undefined,
      },
      signal,
    );
    expect(String(read.content)).toContain('# PDF');
  });

  it('is a TypeError with anything else', () => {
    expect(() => skills({ folder, runtime: {} as CodeRuntime })).toThrow(
      new TypeError('skills: runtime must be a runtime for code, got {}'),
    );
  });
});
