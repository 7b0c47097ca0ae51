/** Webhooks of several processes that are killed while they deliver: each response is told of, and its event is verified. */
import { textStream } from '../../src/testing/index.ts';
import type { WebhookEndpoint } from '../../src/webhooks.ts';
import { type Received, Receiver, startWebhooks, unwrap } from '../engine/webhooks/webhooks-world.ts';
import { eventually } from './cluster.ts';
import { begun, onEachDatabase, type World } from './world.ts';

const RESPONSES = 12;
const KILLS = 3;

let receiver: Receiver;
afterAll(() => receiver.close());

/** An endpoint that the receiver has agreed to. */
async function verifiedEndpoint(): Promise<WebhookEndpoint> {
  receiver ??= await Receiver.start();
  const { webhooks, endpoints } = await startWebhooks(receiver, { tenants: ['one'] });
  await webhooks.close();
  const [endpoint] = endpoints;
  if (!endpoint) throw new Error('There is no endpoint.');
  return endpoint;
}

function suite(world: World): void {
  it('[E-11] are delivered wherever their processes are killed', async () => {
    const { cluster, model } = world;
    model.say({ body: textStream('Done.') });
    receiver.received.length = 0;
    const delivered: Received[] = [];
    const ids: string[] = [];
    let isSlow = false;
    receiver.answer = (request) => {
      if (isSlow) return 'hang';
      delivered.push(request);
      return { status: 200 };
    };
    for (let kill = 1; kill <= KILLS; kill += 1) {
      isSlow = true;
      const [victim, other] = await cluster.fill(3);
      if (!victim || !other) throw new Error('There are too few nodes.');
      for (let each = 0; each < RESPONSES / KILLS; each += 1) ids.push(await begun(each % 2 ? victim : other));
      // Some are under way, and some responses still run.
      const before = receiver.events.length;
      await eventually('one more is under way', () => receiver.events.length > before || undefined);
      await victim.kill();
      isSlow = false;
      await cluster.fill(3);
    }
    const subjects = () => new Set(delivered.map(({ event }) => event.data.id));
    const missing = () => ids.filter((id) => !subjects().has(id)).join();
    await eventually(
      () => `all are told of; missing: ${missing()}`,
      () => missing() === '' || undefined,
    );
    expect([...subjects()].toSorted()).toEqual(ids.toSorted());
    const secret = String(world.webhook?.secret);
    for (const request of delivered)
      expect(await unwrap(request, secret)).toMatchObject({ type: 'response.completed' });
    // Receivers drop what they have seen: every attempt for one response has the same id.
    const names = new Set(receiver.events.map(({ headers, event }) => `${event.data.id} ${headers['webhook-id']}`));
    expect(names.size).toBe(RESPONSES);
  });
}

onEachDatabase('Webhooks of responses in the background', suite, { webhook: verifiedEndpoint });
