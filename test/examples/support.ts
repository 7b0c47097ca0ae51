/** Runs the example and the code of the documentation as a reader would. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { type Example, start } from '../../examples/express/start.ts';
import { itWhere } from '../support/skipping.ts';

type Variables = Readonly<Record<string, string>>;

const root = join(import.meta.dirname, '../..');
const execute = promisify(execFile);

/** Starts the example in this process, silent and on a free port. */
export function startExample(env: Variables = {}): Promise<Example> {
  return start({ PORT: '0', LOG: 'off', MCP_CONFIG: 'off', ...env }, () => {});
}

/** Closes the app in the middle of a stream: the stream's last event, and what a later request gets. */
export async function closedWhileStreaming({
  url,
  close,
}: Pick<Example, 'url' | 'close'>): Promise<readonly unknown[]> {
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any', maxRetries: 0 });
  const stream = await client.responses.create({ model: 'demo', input: 'Hi.', stream: true });
  let closing: Promise<void> | undefined;
  let last = '';
  for await (const event of stream) {
    closing ??= close();
    last = event.type;
  }
  await closing;
  return [last, await fetch(`${url}/health`).catch(() => 'nobody listens')];
}

/** The text of a file of the project. */
export function readProject(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** The code blocks of this language in a Markdown file. */
export function codeBlocks(path: string, language: string): readonly string[] {
  const blocks = readProject(path).matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'gms'));
  return [...blocks].map(([, code = '']) => code);
}

/** Runs a program in the project's folder until it ends, and answers what it printed. */
export async function run(program: string, args: readonly string[]): Promise<string> {
  const { stdout } = await execute(program, args, { cwd: root, timeout: 15_000 });
  return stdout;
}

/** A Node process that goes on until it is stopped. */
export interface Served {
  readonly process: ChildProcess;
  /** The lines that it has printed. */
  readonly lines: readonly string[];
  readonly errors: readonly string[];
  /** Sends SIGTERM, and answers the exit status. */
  stop(): Promise<number | null>;
}

/** Starts Node in the project's folder, with the variables over this process's, and waits for so many lines. */
export async function serve(args: readonly string[], lineCount: number, env: Variables = {}): Promise<Served> {
  const child = spawn(process.execPath, args, { cwd: root, env: { ...process.env, ...env }, timeout: 15_000 });
  const lines: string[] = [];
  const errors: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  child.stderr.on('data', (text) => errors.push(String(text)));
  while (lines.length < lineCount) await Promise.race([once(reader, 'line'), died(child, errors)]);

  async function stop(): Promise<number | null> {
    const closed = once(child, 'close');
    child.kill('SIGTERM');
    const [status] = await closed;
    return status;
  }

  return { process: child, lines, errors, stop };
}

async function died(child: ChildProcess, errors: readonly string[]): Promise<never> {
  const [status] = await once(child, 'close');
  throw new Error(`The process ended with ${status}: ${errors.join('')}`);
}

/** `it` where the built file is there; otherwise a skip whose name says so. */
export function itBuilt(path: string): typeof it {
  return itWhere(existsSync(join(root, path)), `there is no ${path}`);
}

/** `it` where the program can be run; otherwise a skip that says so. */
export async function itWith(program: string): Promise<typeof it> {
  const found = await run(program, ['--version']).then(Boolean, () => false);
  return itWhere(found, `there is no ${program} on this machine`);
}
