/** Nodes in processes of their own over one database, which a test kills, freezes and drains. */
import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { LimitOptions } from '../../src/index.ts';
import type { WebhookEndpoint } from '../../src/webhooks.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { endWithParent } from '../support/services.ts';

/** What a node is started with. */
export interface NodeSetup {
  readonly name: string;
  readonly storeURL: string;
  readonly modelURL: string;
  /** Where the node asks before what a test may want to stop. */
  readonly controlURL: string;
  readonly limits: LimitOptions;
  readonly drainMs: number;
  /** The folder of the files of all nodes, which serve files and batches then. */
  readonly folder?: string | undefined;
  /** Where the nodes tell of the ends of responses in the background. */
  readonly webhook?: WebhookEndpoint | undefined;
  /** Whether the model of the nodes may write programs, and have several agents. */
  readonly hasPrograms?: boolean | undefined;
}

/** A message of a node. */
export type NodeMessage =
  | { readonly type: 'ready'; readonly url: string }
  | { readonly type: 'claimed'; readonly id: string }
  | { readonly type: 'done'; readonly id: string; readonly outcome: 'ended' | 'released' }
  | { readonly type: 'error'; readonly message: string };

/** Resolves with the first value that is not undefined. Throws, naming what was waited for, if there never is one. */
export async function eventually<Value>(
  what: string | (() => string),
  look: () => Value | undefined | Promise<Value | undefined>,
): Promise<Value> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const value = await look();
    if (value !== undefined) return value;
    if (performance.now() > deadline) throw new Error(`It never happened: ${typeof what === 'string' ? what : what()}`);
    await pause(20);
  }
}

/** One process. */
export class ClusterNode {
  readonly name: string;
  /** Up to and including `/v1`. */
  readonly url: string;
  /** The ids of the responses that it claimed, and of those that it is done with, in order. */
  readonly claimed: readonly string[];
  readonly done: readonly { readonly id: string; readonly outcome: 'ended' | 'released' }[];
  private readonly child: ChildProcess;

  constructor({ name }: NodeSetup, child: ChildProcess, url: string, early: readonly NodeMessage[]) {
    this.name = name;
    this.child = child;
    this.url = url;
    const [claimed, done] = [[] as string[], [] as { id: string; outcome: 'ended' | 'released' }[]];
    this.claimed = claimed;
    this.done = done;
    const receive = (message: NodeMessage) => {
      if (message.type === 'claimed') claimed.push(message.id);
      if (message.type === 'done') done.push(message);
    };
    for (const message of early) receive(message);
    child.on('message', receive);
  }

  get isAlive(): boolean {
    return this.child.exitCode === null && this.child.signalCode === null;
  }

  /** Ends it as a power cut would. May be called twice. */
  async kill(): Promise<void> {
    if (!this.isAlive) return;
    const exited = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exited;
  }

  freeze(): void {
    this.child.kill('SIGSTOP');
  }

  thaw(): void {
    this.child.kill('SIGCONT');
  }

  /** Asks it to drain and to go; resolves with its exit code. */
  async drained(): Promise<number | null> {
    const exited = once(this.child, 'exit');
    this.child.kill('SIGTERM');
    const [code] = await exited;
    return code;
  }

  /** What it did with the response, for a message. */
  storyOf(id: string): string {
    const claims = this.claimed.filter((claimed) => claimed === id).length;
    const outcomes = this.done.filter((each) => each.id === id).map(({ outcome }) => outcome);
    return `${this.name} (${this.isAlive ? 'alive' : 'dead'}): ${claims} claims, ${outcomes.join(', ') || 'nothing done'}`;
  }

  isDoneWith(id: string): boolean {
    return this.done.some((each) => each.id === id);
  }
}

/** All nodes. */
export class Cluster {
  private readonly all: ClusterNode[] = [];
  private readonly setup: Omit<NodeSetup, 'name'>;

  constructor(setup: Omit<NodeSetup, 'name'>) {
    this.setup = setup;
  }

  /** Those that live. */
  get nodes(): readonly ClusterNode[] {
    return this.all.filter(({ isAlive }) => isAlive);
  }

  /** Starts as many as are missing. */
  async fill(count: number): Promise<readonly ClusterNode[]> {
    const missing = Array.from({ length: Math.max(count - this.nodes.length, 0) }, (_, index) =>
      startNode({ ...this.setup, name: `node-${this.all.length + index}` }),
    );
    this.all.push(...(await Promise.all(missing)));
    return this.nodes;
  }

  /** Starts one more, of another checkout if its folder is given. */
  async add(checkout?: string): Promise<ClusterNode> {
    const node = await startNode({ ...this.setup, name: `node-${this.all.length}` }, checkout);
    this.all.push(node);
    return node;
  }

  /** The node that has claimed the response, other than these. */
  ownerOf(id: string, ...others: readonly ClusterNode[]): Promise<ClusterNode> {
    return eventually(`${id} is claimed`, () =>
      this.all.find((node) => node.claimed.includes(id) && !others.includes(node)),
    );
  }

  /** The living nodes without these. */
  without(...others: readonly ClusterNode[]): readonly [ClusterNode, ...ClusterNode[]] {
    const rest = this.nodes.filter((node) => !others.includes(node));
    if (rest.length === 0) throw new Error('No node is left.');
    // The cast: just checked.
    return rest as unknown as [ClusterNode, ...ClusterNode[]];
  }

  /** The node that brought the response to its end. */
  endOf(id: string, ...others: readonly ClusterNode[]): Promise<ClusterNode> {
    const hasEnded = ({ done }: ClusterNode) => done.some((each) => each.id === id && each.outcome === 'ended');
    const what = () => `${id} is over; ${this.all.map((node) => node.storyOf(id)).join('; ')}`;
    return eventually(what, () => this.all.find((node) => hasEnded(node) && !others.includes(node)));
  }

  async close(): Promise<void> {
    await Promise.all(this.all.map((node) => node.kill()));
  }
}

const THIS_CHECKOUT = join(import.meta.dirname, '../..');

async function startNode(setup: NodeSetup, checkout = THIS_CHECKOUT): Promise<ClusterNode> {
  const child = fork(join(checkout, 'test/cluster/node-app.ts'), {
    execArgv: ['--no-warnings', '--import', join(checkout, 'test/support/memory-hooks.mjs')],
    env: { ...process.env, NODE_SETUP: JSON.stringify(setup) },
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  endWithParent(child);
  const errors: string[] = [];
  child.stderr?.on('data', (text) => errors.push(String(text)));
  const early: NodeMessage[] = [];
  return new Promise((resolve, reject) => {
    function receive(message: NodeMessage): void {
      early.push(message);
      if (message.type === 'error' && process.env.CLUSTER_ERRORS)
        process.stderr.write(`${setup.name}: ${message.message}\n`);
      if (message.type === 'ready') resolve(new ClusterNode(setup, child, message.url, early));
    }
    child.on('message', receive);
    child.once('exit', (code) => reject(new Error(`${setup.name} ended with ${code}: ${errors.join('')}`)));
  });
}
