/** The built example app as processes that share a store, and what a client says to them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { endWithParent } from '../support/services.ts';

const root = join(import.meta.dirname, '../..');
const SERVER = 'build/examples/express/server.js';

/** Whether the example is built. */
export const isBuilt = existsSync(join(root, SERVER));

/** A process of the example app. */
export interface AppProcess {
  /** Up to and including `/v1`. */
  readonly url: string;
  readonly process: ChildProcess;
  /** Ends it as a power cut would. May be called twice. */
  kill(): Promise<void>;
}

/** Starts the example on a free port over the store. */
export async function startAppProcess(store: string): Promise<AppProcess> {
  const env = { ...process.env, PORT: '0', LOG: 'off', MCP_CONFIG: 'off', STORE: store };
  const child = spawn(process.execPath, [SERVER], { cwd: root, env, stdio: 'pipe' });
  endWithParent(child);
  const errors: string[] = [];
  child.stderr.on('data', (text) => errors.push(String(text)));
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      if (line.startsWith('The Responses API is at ')) resolve(String(line.split(' ').at(-1)));
    });
    child.once('exit', (status) => reject(new Error(`The app ended with ${status}: ${errors.join('')}`)));
  });

  async function kill(): Promise<void> {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }

  return { url, process: child, kill };
}

/** What came back, as far as the tests look at it. */
export interface Answer {
  readonly status: number;
  readonly id: string;
  readonly text: string | undefined;
  /** Of the error envelope, or of a response that failed. */
  readonly code: string | undefined;
  /** How many words the model was given: all of the chain's. */
  readonly words: number | undefined;
}

interface Body {
  readonly id: string;
  readonly output?: readonly { readonly content?: readonly { readonly text: string }[] }[];
  readonly error?: { readonly code: string; readonly reason?: string } | null;
  readonly usage?: { readonly input_tokens: number };
}

/** Says one thing and waits for the whole answer. */
export async function say({ url }: AppProcess, input: string, previous?: string): Promise<Answer> {
  const response = await create(url, { input, ...(previous ? { previous_response_id: previous } : {}) });
  // The cast: a response or an error envelope, whose fields the tests compare.
  const body = (await response.json()) as Body;
  return {
    status: response.status,
    id: body.id,
    text: body.output?.[0]?.content?.[0]?.text,
    // A failed response has one of OpenAI's own codes, and ours as its reason.
    code: body.error?.reason ?? body.error?.code,
    words: body.usage?.input_tokens,
  };
}

/** A stream that stands where the text was first seen: what was read, and the rest, which may never be read. */
export async function streamUntil({ url }: AppProcess, seen: string, fields: object): Promise<string> {
  const response = await create(url, { stream: true, ...fields });
  let text = '';
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    if (text.includes(seen)) return text;
  }
  throw new Error(`The stream ended without ${seen}: ${text}`);
}

/** The id of the response whose stream this is. */
export function idIn(stream: string): string {
  return /"id":"(resp_[^"]+)"/.exec(stream)?.[1] ?? '';
}

/** The status of asking for a response. */
export async function statusOf({ url }: AppProcess, id: string): Promise<number> {
  const response = await fetch(`${url}/responses/${id}`);
  await response.arrayBuffer();
  return response.status;
}

function create(url: string, fields: object): Promise<Response> {
  return fetch(`${url}/responses`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', ...fields }),
  });
}
