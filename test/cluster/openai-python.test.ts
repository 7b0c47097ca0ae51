/** openai-python as the client of a cluster: the node that it reads from is killed, and it reads the rest from another. */

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { JsonObject } from '../../src/protocol/record.ts';
import { textStream } from '../../src/testing/index.ts';
import { parsed, type StreamEvent } from '../http/client.ts';
import { pythonPackage } from '../support/python-package.ts';
import { endWithParent } from '../support/services.ts';
import { agreedOn, calls, onEachDatabase, stalled, textsOf } from './world.ts';

const openai = await pythonPackage('openai', '3.54.0');

/** What the client printed, and how it is given another node. */
interface Client {
  readonly lines: AsyncIterable<string>;
  goOnAt(url: string): void;
  /** Resolves with its exit status and its errors. */
  readonly ended: Promise<readonly [number | null, string]>;
}

function startClient(url: string): Client {
  const child = spawn(openai.python, [join(import.meta.dirname, 'openai_client.py'), url], { stdio: 'pipe' });
  endWithParent(child);
  return {
    lines: createInterface({ input: child.stdout }),
    goOnAt: (other) => void child.stdin.end(`${other}\n`),
    ended: endOf(child),
  };
}

async function endOf(child: ChildProcess): Promise<readonly [number | null, string]> {
  let errors = '';
  child.stderr?.on('data', (text) => {
    errors += text;
  });
  const [code] = await once(child, 'close');
  return [code, errors];
}

/** The client adds what it parsed to what came over the wire. */
function withoutHelpers(value: unknown): JsonObject {
  return JSON.parse(JSON.stringify(value), (key, member) => (key === 'parsed' ? undefined : member));
}

onEachDatabase('openai-python', (world) => {
  openai.it('[S-18] [X-08] has the whole response although the node was killed that streamed it', async () => {
    const { cluster, model } = world;
    model.say(calls('once'), stalled('Hello', ', '), { body: textStream('world') });
    const [first] = cluster.without();
    const client = startClient(first.url);
    const events: StreamEvent[] = [];
    let printed: JsonObject = {};
    for await (const line of client.lines) {
      const { event, cut, ...rest } = parsed(line);
      printed = { ...printed, ...rest };
      // The cast: what the client prints of an event is the event.
      if (event) events.push(event as StreamEvent);
      if ((event as JsonObject | undefined)?.type === 'response.output_text.delta' && first.isAlive) void first.kill();
      if (cut === undefined) continue;
      // Its connections end a little before it is known to be dead.
      await first.kill();
      // Another node may have been the owner: then the stream alone was lost, and its node goes too.
      await (await cluster.ownerOf(idOf(events))).kill();
      client.goOnAt(cluster.without()[0].url);
    }
    expect(await client.ended).toEqual([0, '']);
    const agreed = await agreedOn(cluster, idOf(events));
    expect(events).toEqual(agreed.events);
    const { accumulated, followed, retrieved, text } = withoutHelpers(printed);
    expect([accumulated, followed, retrieved, text]).toEqual([
      { texts: textsOf(agreed.response), items: agreed.response.output, final: agreed.response },
      { types: agreed.events.slice(4).map(({ type }) => type), final: agreed.response },
      agreed.response,
      'Hello, world',
    ]);
  });
});

function idOf([first]: readonly StreamEvent[]): string {
  // The cast: it is `response.created`.
  return String((first?.response as JsonObject | undefined)?.id);
}
