/** The app that hostile bodies are sent to, in a process of its own with a small heap, and the work of its answers. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { ENDPOINTS, type EndpointName, excessOf, hostileBodies } from '../support/hostile-bodies.ts';
import type { Work } from '../support/work.ts';

export const MIB = 1024 * 1024;
const BYTES = 50_000;
/** Megabytes: the largest accepted body has two million values, and its text. */
const HEAP = 700;

/** What the app did for an answer. */
export interface Spent {
  readonly work: Work;
  /** Bytes of compressed bodies, once they were inflated. */
  readonly inflated: number;
}

/** The answer. */
export interface Sent extends Spent {
  readonly status: number;
  readonly text: string;
}

/** The app that is attacked. */
export class AttackedApp {
  readonly url: string;
  private readonly child: ChildProcess;

  constructor(child: ChildProcess, url: string) {
    this.child = child;
    this.url = url;
  }

  close(): void {
    if (this.child.exitCode === null) this.child.kill();
  }

  /** What the app has done since it was last asked; fails if it has died. */
  async spent(): Promise<Spent> {
    if (!this.child.connected) throw new Error('The app has died.');
    const answer = once(this.child, 'message');
    this.child.send('work');
    // The cast: what `bodies-app.ts` sends.
    const [spent] = (await answer) as [Spent];
    return spent;
  }

  /** Posts the body. */
  async send(path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Sent> {
    await this.spent();
    const response = await fetch(`${this.url}${path}`, {
      method: 'POST',
      // A new connection each time: a process that was busy may just have closed the last one.
      headers: { 'content-type': 'application/json', connection: 'close', ...headers },
      body: body as string,
    });
    const text = await response.text();
    return { status: response.status, text, ...(await this.spent()) };
  }

  private async idOf(path: string, body: unknown): Promise<string> {
    return JSON.parse((await this.send(path, JSON.stringify(body))).text).id;
  }

  /** The path of the endpoint; creates the resource that it needs first. */
  async pathOf(prefix: string, endpoint: EndpointName): Promise<string> {
    const path = endpoint.replace('POST ', '');
    if (!path.includes(':id')) return `${prefix}${path}`;
    if (endpoint.includes('submit_tool_outputs')) {
      const tools = [{ type: 'function', name: 'call' }];
      const id = await this.idOf('/tokligence/responses', { model: 'm', input: 'Hi.', tools });
      return `/tokligence${path.replace(':id', id)}`;
    }
    return `${prefix}${path.replace(':id', await this.idOf('/v1/conversations', {}))}`;
  }
}

/** Starts the app, which counts its work, or only lives. */
export async function startAttackedApp(counts: '--count' | '--live' = '--count'): Promise<AttackedApp> {
  const child = fork(join(import.meta.dirname, 'bodies-app.ts'), [counts], {
    execArgv: [`--max-old-space-size=${HEAP}`, '--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
  });
  const [address] = await once(child, 'message');
  return new AttackedApp(child, String(address));
}

/** The faults of the answer to a body of so many bytes; empty if the server withstood the attack. */
export function faultsOf(name: string, bytes: number, { status, work }: Sent): readonly string[] {
  const excess = excessOf(work, bytes);
  if (status < 500 && excess.length === 0) return [];
  return [`${name}: status ${status}, ${excess.join(', ')}`];
}

/** Sends every hostile body, or one in so many, to the endpoint below the prefix; returns the faults, and how many were sent. */
export async function attackEndpoint(
  app: AttackedApp,
  endpoint: EndpointName,
  { prefix, oneOf }: { readonly prefix: string; readonly oneOf: number },
): Promise<{ readonly faults: readonly string[]; readonly sent: number }> {
  const faults: string[] = [];
  let number = 0;
  let sent = 0;
  for (const body of hostileBodies(endpoint, BYTES)) {
    number += 1;
    if (number % oneOf !== 0) continue;
    const path = await app.pathOf(prefix, endpoint);
    const text = body.text();
    faults.push(...faultsOf(`${prefix} ${body.name}`, text.length, await app.send(path, text)));
    sent += 1;
  }
  return { faults, sent };
}

/** The endpoints that take a body. */
export const ENDPOINT_NAMES = Object.keys(ENDPOINTS) as readonly EndpointName[];
