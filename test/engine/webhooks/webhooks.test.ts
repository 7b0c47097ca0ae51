/** Webhooks: signed as OpenAI's SDK verifies, to verified endpoints alone, again after failures, in order. */
import { jest } from '@jest/globals';
import { nextAttemptMs } from '../../../src/engine/webhooks/retry-schedule.ts';
import { memoryStore } from '../../../src/index.ts';
import { egressGuard } from '../../../src/tools/egress/index.ts';
import { createWebhooks, type Webhooks } from '../../../src/webhooks.ts';
import { newSecret, Receiver, startWebhooks, until, unwrap } from './webhooks-world.ts';

let receiver: Receiver;
let webhooks: Webhooks | undefined;
beforeEach(async () => {
  receiver = await Receiver.start();
});
afterEach(async () => {
  await webhooks?.close();
  await receiver.close();
});

const EVENT = { scope: 'alice', subject: 'resp_1', type: 'response.completed' };

describe('a webhook', () => {
  it('[E-11] is verified and read by OpenAI’s SDK, and not with another secret, body or time', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    await webhooks.publish(EVENT);
    await until(() => receiver.events.length === 1);
    const [delivery] = receiver.events;
    if (!delivery) throw new Error('Nothing was delivered.');
    expect(await unwrap(delivery, world.secret)).toEqual({
      ...{ id: expect.stringMatching(/^evt_/), object: 'event', type: 'response.completed' },
      ...{ created_at: expect.any(Number), data: { id: 'resp_1' } },
    });
    expect(delivery.headers['webhook-id']).toBe(delivery.event.id);
    const { headers, body } = delivery;
    const old = { ...headers, 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 1000) };
    for (const [forged, secret] of [
      [delivery, newSecret()],
      [{ ...delivery, body: body.replace('resp_1', 'resp_2') }, world.secret],
      [{ ...delivery, headers: { ...headers, 'webhook-signature': 'v1,AAAA' } }, world.secret],
      [{ ...delivery, headers: old }, world.secret],
    ] as const)
      await expect(unwrap(forged, secret)).rejects.toThrow();
  });

  it('[E-11] is signed with each of several secrets, while one replaces another', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    const secrets = [newSecret(), world.secret];
    world.endpoints[0] = { ...world.endpoints[0], url: receiver.url, secret: secrets };
    await webhooks.publish(EVENT);
    await until(() => receiver.events.length === 1);
    for (const secret of secrets)
      expect(await unwrap(receiver.events[0] as never, secret)).toMatchObject({ type: EVENT.type });
  });

  it('[E-11] is sent to no endpoint that is not verified, or is verified for another tenant or URL; that is noted', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    const [endpoint] = world.endpoints;
    const refused = [
      { url: receiver.url, secret: world.secret },
      { url: `${receiver.url}/other`, secret: world.secret, verification: endpoint?.verification },
      {
        url: receiver.url,
        secret: world.secret,
        verification: await webhooks.verify('bob', { url: receiver.url, secret: world.secret }),
      },
    ];
    for (const [place, each] of refused.entries()) {
      world.endpoints.splice(0, 1, each as never);
      await webhooks.publish({ ...EVENT, subject: `resp_${place}` });
    }
    await webhooks.publish({ ...EVENT, scope: 'carol' });
    expect([receiver.events, (await webhooks.deliveries('alice')).map(({ outcome }) => outcome)]).toEqual([
      [],
      ['refused', 'refused', 'refused'],
    ]);
    expect(await webhooks.deliveries('carol')).toEqual([]);
  });

  it('[E-11] needs an endpoint that answers a signed challenge with it', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    const { verify } = webhooks;
    expect(await unwrap(receiver.received[0] as never, world.secret)).toMatchObject({ type: 'endpoint.verification' });
    receiver.agrees = false;
    const wrong = [
      { url: receiver.url, secret: world.secret },
      { url: receiver.url, secret: 'whsec_short' },
      { url: 'https://127.0.0.1:1/', secret: world.secret },
      { url: 'not a URL', secret: world.secret },
    ];
    for (const endpoint of wrong)
      await expect(verify('alice', endpoint)).rejects.toMatchObject({ code: 'webhook_unverified' });
  });

  it('[E-11] follows no redirect, not even to this machine, and is not sent to a private address by default', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    const inside = await Receiver.start();
    receiver.answer = () => ({ status: 307, headers: { location: inside.url } });
    await webhooks.publish(EVENT);
    await until(async () => (await world.webhooks.deliveries('alice')).length === 1);
    const [delivery] = await webhooks.deliveries('alice');
    expect([delivery?.outcome, delivery?.status, inside.received]).toEqual(['failed', 307, []]);
    const guarded = createWebhooks({ endpoints: () => [], logger: false, guard: egressGuard() });
    for (const url of [inside.url, inside.url.replace('http:', 'https:'), 'https://169.254.169.254/'])
      await expect(guarded.verify('alice', { url, secret: newSecret() })).rejects.toMatchObject({
        code: 'webhook_unverified',
      });
    await guarded.close();
    expect(inside.received).toEqual([]);
    await inside.close();
  });

  it('[E-11] whose receiver never answers is cut off, and tried again', async () => {
    const world = await startWebhooks(receiver, { timeoutMs: 1000 });
    webhooks = world.webhooks;
    receiver.answer = () => 'hang';
    await webhooks.publish(EVENT);
    await until(async () => (await world.webhooks.deliveries('alice')).length === 1);
    const [delivery] = await webhooks.deliveries('alice');
    expect([delivery?.outcome, delivery?.status, Number(delivery?.nextAt) > Number(delivery?.at)]).toEqual([
      'failed',
      null,
      true,
    ]);
  });

  it('[E-11] whose slow receiver has many does not hold up that of another tenant', async () => {
    const world = await startWebhooks(receiver, { parallelDeliveries: 2, tenants: ['alice', 'bob'] });
    webhooks = world.webhooks;
    receiver.answer = ({ event }) => (event.data.id === 'resp_bob' ? { status: 200 } : 'hang');
    for (let index = 0; index < 20; index += 1) await webhooks.publish({ ...EVENT, subject: `resp_${index}` });
    await until(() => receiver.events.length === 1);
    await webhooks.publish({ ...EVENT, scope: 'bob', subject: 'resp_bob' });
    await until(() => receiver.events.length === 2);
    expect(receiver.events.map(({ event }) => event.data.id)).toEqual(['resp_0', 'resp_bob']);
  });

  it('[E-11] that has arrived is not sent again and again while the store can be read but not written', async () => {
    const store = memoryStore();
    let isFull = false;
    const written = <Result>(write: () => Result): Result => {
      if (isFull) throw new Error('OOM command not allowed when used memory > maxmemory.');
      return write();
    };
    const world = await startWebhooks(receiver, {
      store: {
        ...store,
        put: (record) => written(() => store.put(record)),
        replace: (record, version) => written(() => store.replace(record, version)),
      },
    });
    webhooks = world.webhooks;
    receiver.answer = () => {
      isFull = world.errors.length === 0;
      return { status: 200 };
    };
    await webhooks.publish(EVENT);
    // One of them is that of the list of the last deliveries.
    await until(() => world.errors.length >= 3);
    isFull = false;
    await webhooks.publish({ ...EVENT, type: 'response.failed' });
    await until(() => receiver.events.some(({ event }) => event.type === 'response.failed'));
    expect(receiver.events.map(({ event }) => event.type)).toEqual(['response.completed', 'response.failed']);
  });

  it('[E-11] that is published again is not sent again, and one that is not wanted is not sent', async () => {
    const world = await startWebhooks(receiver, {}, ['response.completed']);
    webhooks = world.webhooks;
    await webhooks.publish(EVENT);
    await until(() => receiver.events.length === 1);
    await until(async () => (await world.webhooks.deliveries('alice')).length === 1);
    await webhooks.publish(EVENT);
    await webhooks.publish({ ...EVENT, type: 'response.failed' });
    await webhooks.publish({ ...EVENT, subject: 'resp_2' });
    await until(() => receiver.events.length === 2);
    expect(receiver.events.map(({ event }) => event.data.id)).toEqual(['resp_1', 'resp_2']);
  });

  it('[E-11] to an endpoint that is gone for good is given up', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    receiver.answer = () => ({ status: 410 });
    await webhooks.publish(EVENT);
    await until(async () => (await world.webhooks.deliveries('alice')).length === 1);
    expect((await webhooks.deliveries('alice'))[0]).toMatchObject({
      outcome: 'given_up',
      status: 410,
      nextAt: null,
      attempt: 1,
    });
  });

  it('[E-11] is among the last fifty deliveries of its tenant', async () => {
    const world = await startWebhooks(receiver);
    webhooks = world.webhooks;
    for (let index = 0; index < 60; index += 1) {
      await webhooks.publish({ ...EVENT, subject: `resp_${index}` });
      await until(() => receiver.events.length === index + 1);
    }
    await until(async () => (await world.webhooks.deliveries('alice'))[0]?.subject === 'resp_59');
    const deliveries = await webhooks.deliveries('alice');
    expect([deliveries.length, deliveries[49]?.subject, await webhooks.deliveries('bob')]).toEqual([50, 'resp_10', []]);
    expect(JSON.stringify(deliveries)).not.toContain('whsec_');
    expect(world.errors).toEqual([]);
  });
});

describe('a webhook whose receiver is down for five minutes', () => {
  afterEach(() => jest.useRealTimers());

  it('[E-11] is delivered once it is up again, with the same id, a new signature, and before the next one of its response', async () => {
    const secret = newSecret();
    const endpoints: { url: string; secret: string; verification: string }[] = [];
    let isUp = true;
    const sent: { readonly type: string; readonly id: string; readonly at: string }[] = [];
    // No sockets: the clock is the test's.
    const guard = {
      check() {},
      async fetch(_url: string, init: RequestInit = {}) {
        const { type, data } = JSON.parse(String(init.body));
        if (data.challenge) return Response.json({ challenge: data.challenge });
        const headers = new Headers(init.headers);
        sent.push({ type, id: String(headers.get('webhook-id')), at: String(headers.get('webhook-timestamp')) });
        if (!isUp) throw new TypeError('fetch failed');
        return new Response('', { status: 200 });
      },
    };
    const own = createWebhooks({
      endpoints: () => endpoints,
      guard,
      store: memoryStore(),
      logger: false,
      secret: 'a key of sixteen bytes',
    });
    const url = 'https://receiver.example/';
    endpoints.push({ url, secret, verification: await own.verify('alice', { url, secret }) });
    jest.useFakeTimers({
      doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'performance', 'setInterval', 'clearInterval'],
    });
    isUp = false;
    await own.publish(EVENT);
    await own.publish({ ...EVENT, type: 'response.failed' });
    await jest.advanceTimersByTimeAsync(5 * 60_000);
    const during = sent.length;
    isUp = true;
    await jest.advanceTimersByTimeAsync(6 * 60_000);
    const types = sent.map(({ type }) => type);
    // 5, 10, 20 … seconds: neither every second nor once an hour.
    expect([during > 4, during < 10]).toEqual([true, true]);
    expect(types).toEqual([...Array(sent.length - 1).fill('response.completed'), 'response.failed']);
    expect([new Set(sent.slice(0, -1).map(({ id }) => id)).size, new Set(sent.map(({ at }) => at)).size > 4]).toEqual([
      1,
      true,
    ]);
    expect((await own.deliveries('alice')).slice(0, 3).map(({ outcome }) => outcome)).toEqual([
      'delivered',
      'delivered',
      'failed',
    ]);
    await own.close();
  });

  it('[E-11] is given up three days after its event, and not before', () => {
    const eventAt = 0;
    let now = 0;
    let attempts = 1;
    for (let failures = 1; ; failures += 1) {
      const pauseMs = nextAttemptMs(failures, { now, eventAt, random: 0.5 });
      if (pauseMs === undefined) break;
      now += pauseMs;
      attempts += 1;
    }
    const hours = now / 3_600_000;
    expect([hours > 67, hours <= 72, attempts > 20, attempts < 40]).toEqual([true, true, true, true]);
    expect(nextAttemptMs(1, { now: 0, eventAt, random: 0, wantedMs: 60_000 })).toBe(60_000);
  });
});
