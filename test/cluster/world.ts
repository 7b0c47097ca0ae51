/** What a cluster is surrounded by: its database, a model server that the test controls, and whom its nodes ask before they act. */

import type { LimitOptions } from '../../src/index.ts';
import type { JsonObject } from '../../src/protocol/record.ts';
import type { FakeResponder, FakeUpstream } from '../../src/testing/index.ts';
import { chatChunk, startFakeUpstream, toolCallStream } from '../../src/testing/index.ts';
import type { WebhookEndpoint } from '../../src/webhooks.ts';
import { ask, parsed, parseStream, type Stream, type StreamEvent, send } from '../http/client.ts';
import { describePostgres, startPostgres } from '../support/postgres-server.ts';
import { describeRedis, startRedis } from '../support/redis-server.ts';
import type { Service } from '../support/services.ts';
import { expectWireLaws, readWire } from '../support/wire-laws.ts';
import { Cluster, type ClusterNode, eventually } from './cluster.ts';

/** A database that a cluster shares. */
interface SharedDatabase {
  readonly name: string;
  readonly describe: (name: string, body: () => void) => void;
  start(setup?: { readonly durable?: boolean }): Promise<Service>;
}

const databases: readonly SharedDatabase[] = [
  { name: 'Redis', describe: describeRedis, start: startRedis },
  { name: 'PostgreSQL', describe: describePostgres, start: startPostgres },
];

/** Everything that a test of a cluster needs. */
export interface World {
  readonly database: Service;
  readonly cluster: Cluster;
  readonly model: Model;
  readonly control: Control;
  /** Whom the nodes tell of the ends of responses in the background. */
  readonly webhook: WebhookEndpoint | undefined;
}

/** Runs the tests with three nodes on each database; the world is there once the tests run. */
export function onEachDatabase(
  title: string,
  suite: (world: World) => void,
  {
    durable = false,
    limits = {},
    nodes = 3,
    folder,
    webhook,
    hasPrograms,
  }: {
    durable?: boolean;
    limits?: LimitOptions;
    nodes?: number;
    folder?: string;
    webhook?: () => Promise<WebhookEndpoint>;
    hasPrograms?: boolean;
  } = {},
): void {
  for (const { name, describe, start } of databases)
    describe(`${title}, on ${name}`, () => {
      // The cast: filled before the tests run.
      const world = {} as { -readonly [Part in keyof World]: World[Part] };

      beforeAll(async () => {
        world.database = await start({ durable });
        world.model = await Model.start();
        world.control = await Control.start();
        world.webhook = await webhook?.();
        world.cluster = new Cluster({
          storeURL: world.database.url,
          modelURL: world.model.url,
          controlURL: world.control.url,
          limits,
          drainMs: 60_000,
          folder,
          webhook: world.webhook,
          hasPrograms,
        });
      }, 120_000);
      beforeEach(async () => {
        await world.cluster.fill(nodes);
      }, 120_000);
      afterAll(async () => {
        await world.cluster?.close();
        await Promise.all([world.model?.close(), world.control?.close()]);
        await world.database?.close();
      }, 120_000);

      suite(world);
    });
}

/** The model server of all nodes. */
export class Model {
  readonly fake: FakeUpstream;
  private readonly play: { replies: readonly FakeResponder[]; count: number };

  private constructor(fake: FakeUpstream, play: Model['play']) {
    this.fake = fake;
    this.play = play;
  }

  static async start(): Promise<Model> {
    const play: Model['play'] = { replies: [], count: 0 };
    const fake = await startFakeUpstream({
      reply(request) {
        const reply = play.replies[Math.min(play.count++, play.replies.length - 1)];
        if (!reply) throw new Error('There is no reply.');
        return typeof reply === 'function' ? reply(request) : reply;
      },
    });
    return new Model(fake, play);
  }

  get url(): string {
    return this.fake.baseURL;
  }

  /** How often it was asked since `say`. */
  get asked(): number {
    return this.play.count;
  }

  /** One reply for each request from now on; the last one also for all that follow. */
  say(...replies: readonly FakeResponder[]): void {
    Object.assign(this.play, { replies, count: 0 });
  }

  close(): Promise<void> {
    return this.fake.close();
  }
}

/** Receives what the nodes are about to do, and lets them do it or not. */
export class Control {
  private readonly fake: FakeUpstream;
  private readonly stopped: Set<string>;

  private constructor(fake: FakeUpstream, stopped: Set<string>) {
    this.fake = fake;
    this.stopped = stopped;
  }

  static async start(): Promise<Control> {
    const stopped = new Set<string>();
    const fake = await startFakeUpstream({
      reply: ({ path }) => (stopped.delete(whatIn(path)) ? { hang: true } : { body: `did ${whatIn(path)}` }),
    });
    return new Control(fake, stopped);
  }

  get url(): string {
    return new URL(this.fake.baseURL).origin;
  }

  /** Never answers the next node that asks for this. */
  stopNext(what: string): void {
    this.stopped.add(what);
  }

  /** How often nodes have asked for this. */
  count(what: string): number {
    return this.fake.requests.filter(({ path }) => whatIn(path) === what).length;
  }

  close(): Promise<void> {
    return this.fake.close();
  }
}

function whatIn(path: string): string {
  return path.slice(1).split('?')[0] ?? '';
}

/** Says the pieces, and then nothing more. */
export function stalled(...pieces: readonly (string | JsonObject)[]): FakeResponder {
  const body = pieces.map((piece) => chatChunk(typeof piece === 'string' ? { content: piece } : piece));
  return { body, stallAfterBytes: 1e6 };
}

/** Calls the tools. */
export function calls(...names: readonly string[]): FakeResponder {
  return {
    body: toolCallStream(names.map((name, index) => ({ id: `call_${index}_${name}`, name, arguments: '{}' }))),
  };
}

/** Begins a response in the background, and returns its id. */
export async function begun({ url }: ClusterNode, body: JsonObject = {}): Promise<string> {
  const response = await ask(url, { background: true, ...body });
  const text = await response.text();
  if (!response.ok) throw new Error(`Not begun: ${text}`);
  return String(parsed(text).id);
}

/** The events after the number, to the end of the stream. */
export async function followed({ url }: ClusterNode, id: string, after = -1): Promise<Stream> {
  const query = after < 0 ? '' : `&starting_after=${after}`;
  return parseStream(await (await fetch(`${url}/responses/${id}?stream=true${query}`)).text());
}

/** The events up to the first for which this holds; the client then leaves. */
export async function seenUntil(
  { url }: ClusterNode,
  id: string,
  isLast: (event: StreamEvent) => boolean,
): Promise<readonly StreamEvent[]> {
  const response = await fetch(`${url}/responses/${id}?stream=true`);
  const decoder = new TextDecoder();
  let text = '';
  for await (const bytes of response.body ?? []) {
    text += decoder.decode(bytes, { stream: true });
    const { events } = parseStream(text.slice(0, text.lastIndexOf('\n\n') + 2));
    const last = events.findIndex(isLast);
    if (last >= 0) return events.slice(0, last + 1);
  }
  throw new Error(`The stream ended before: ${text}`);
}

/** Whether an event is of this type. */
export function isOf(type: string): (event: StreamEvent) => boolean {
  return (event) => event.type === type;
}

/** The response as it is stored. */
export async function retrieved({ url }: ClusterNode, id: string): Promise<JsonObject> {
  return (await send(`${url}/responses/${id}`)).body;
}

/** The response as soon as it is no longer in progress. */
export function settled(node: ClusterNode, id: string): Promise<JsonObject> {
  return eventually(`${id} has ended`, async () => {
    const response = await retrieved(node, id);
    return response.status === 'in_progress' || response.status === 'queued' ? undefined : response;
  });
}

/** What everybody agrees on: each node sends the same whole stream, which keeps the laws, and ends with what is stored. */
export async function agreedOn({ nodes }: Cluster, id: string) {
  const streams = await Promise.all(nodes.map((node) => followed(node, id)));
  const [stream] = streams;
  if (!stream) throw new Error('No node is left.');
  for (const other of streams) expect(other.events).toEqual(stream.events);
  const responses = await Promise.all(nodes.map((node) => retrieved(node, id)));
  const last = expectWireLaws(readWire(stream.text));
  for (const response of responses) expect(response).toEqual(last);
  // The cast: as the client read it.
  return { events: stream.events, text: stream.text, response: responses[0] as JsonObject };
}

/** The texts of the messages. */
export function textsOf({ output }: JsonObject): readonly string[] {
  // The casts: the wire's laws hold.
  const messages = (output as readonly JsonObject[]).filter(({ type }) => type === 'message');
  return messages.flatMap(({ content }) => (content as readonly JsonObject[]).map(({ text }) => String(text)));
}

/** The calls of the output: name, status, output and whether there was an error. */
export function callsOf({ output }: JsonObject): readonly (readonly unknown[])[] {
  // The cast: as above.
  const items = (output as readonly JsonObject[]).filter(({ type }) => type === 'mcp_call');
  return items.map(({ name, status, output: result }) => [name, status, result]);
}
