/** The app that hostile bodies are sent to, in a process of its own with a small heap, and the cost of its answers. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { allowedTime, ENDPOINTS, type EndpointName, hostileBodies } from '../support/hostile-bodies.ts';

export const MIB = 1024 * 1024;
const BYTES = 200_000;
/** Megabytes: the largest accepted body has two million values, and its text. */
const HEAP = 700;

/** The answer. */
export interface Sent {
  readonly status: number;
  readonly text: string;
  /** Milliseconds of the app's processor time. */
  readonly ms: number;
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

  /** The processor time that the app has taken so far; fails if it has died. */
  async spent(): Promise<number> {
    if (!this.child.connected) throw new Error('The app has died.');
    const answer = once(this.child, 'message');
    this.child.send('time');
    const [ms] = await answer;
    return Number(ms);
  }

  /** Posts the body. */
  async send(path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>> = {}): Promise<Sent> {
    const before = await this.spent();
    const response = await fetch(`${this.url}${path}`, {
      method: 'POST',
      // A new connection each time: a process that was busy may just have closed the last one.
      headers: { 'content-type': 'application/json', connection: 'close', ...headers },
      body: body as string,
    });
    const text = await response.text();
    return { status: response.status, text, ms: (await this.spent()) - before };
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

/** Starts the app. */
export async function startAttackedApp(): Promise<AttackedApp> {
  const child = fork(join(import.meta.dirname, 'bodies-app.ts'), {
    execArgv: [`--max-old-space-size=${HEAP}`, '--import', join(import.meta.dirname, '../support/memory-hooks.mjs')],
  });
  const [address] = await once(child, 'message');
  return new AttackedApp(child, String(address));
}

const ATTEMPTS_AGAIN = 3;

/** The faults of the answer; empty if the server withstood the attack. */
export async function faultOf(name: string, allowed: number, attack: () => Promise<Sent>): Promise<readonly string[]> {
  let { status, ms } = await attack();
  // Garbage of the attack before it may be collected now, and other work may slow this machine down.
  for (let again = 0; again < ATTEMPTS_AGAIN && ms > allowed; again += 1) ({ status, ms } = await attack());
  if (status < 500 && ms <= allowed) return [];
  return [`${name}: status ${status}, ${ms.toFixed(0)} ms of ${allowed.toFixed(0)}`];
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
    faults.push(...(await faultOf(`${prefix} ${body.name}`, await allowedTime(text), () => app.send(path, text))));
    sent += 1;
  }
  return { faults, sent };
}

/** The endpoints that take a body. */
export const ENDPOINT_NAMES = Object.keys(ENDPOINTS) as readonly EndpointName[];
