/** The lines of docs/clients.md for SDKs, as they stand there: each asks an app with the demo model, and prints its answer. */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execPath } from 'node:process';
import { promisify } from 'node:util';
import { type DemoModel, startDemoModel } from '../../src/testing/index.ts';
import { type App, startApp } from '../support/app.ts';
import { pythonPackage } from '../support/python-package.ts';

const ANSWER = 'Hello from the demo model. You wrote "Say hello."';
const WITHIN_MS = 60_000;

const agents = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });
const pydantic = await pythonPackage('pydantic-ai-slim', '2.62.0', {
  imported: 'pydantic_ai.models.openai',
  along: ['pydantic-ai-slim[openai]==2.62.0'],
});
const page = await readFile(join(import.meta.dirname, '../../docs/clients.md'), 'utf8');
/** Those that import a package of this folder; the others have tests of their own. */
const clients = blocksOf('js').filter((code) => / from '(?!openai')/.test(code));
const [pydanticLines = [], pythons = []] = [true, false].map((isPydantic) =>
  blocksOf('python').filter((code) => code.includes('pydantic_ai') === isPydantic),
);

let demo: DemoModel;
let app: App;
let folder: string;

function blocksOf(language: string): readonly string[] {
  return [...page.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'))].map(([, code = '']) => code);
}

function nameOf(code: string): string {
  return /(?:from|import) '?([@\w/-]+)/.exec(code.replace(/^import \{.*\} from/m, 'from'))?.[1] ?? code;
}

/** What a file with these lines prints, run in this folder, where the packages are. */
async function printedBy(program: string, file: string, code: string): Promise<string> {
  const path = join(folder, file);
  await writeFile(path, code.replaceAll('http://localhost:3000/v1', app.url));
  const { stdout } = await promisify(execFile)(program, [path], { timeout: WITHIN_MS });
  return stdout;
}

describe('the lines of docs/clients.md', () => {
  beforeAll(async () => {
    demo = await startDemoModel();
    app = await startApp({ upstream: demo });
    folder = await mkdtemp(join(import.meta.dirname, 'node_modules/snippets-'));
  });
  afterAll(async () => {
    await app.close();
    await demo.close();
    await rm(folder, { recursive: true });
  });

  it('are for three SDKs in JavaScript and three in Python', () => {
    expect([clients.length, pythons.length, pydanticLines.length]).toEqual([3, 2, 1]);
  });

  it.each(clients.map((code) => [nameOf(code), code]))('work in JavaScript: %s', async (_name, code) => {
    expect(await printedBy(execPath, 'client.mjs', code)).toContain(ANSWER);
  });

  agents.it('work in Python', async () => {
    const printed = [];
    for (const code of pythons) printed.push(await printedBy(agents.python, 'client.py', code));
    expect(printed).toEqual(pythons.map(() => `${ANSWER}\n`));
  });

  pydantic.it('work in Python: pydantic-ai', async () => {
    expect(await printedBy(pydantic.python, 'client.py', pydanticLines[0] ?? '')).toBe(`${ANSWER}\n`);
  });
});
