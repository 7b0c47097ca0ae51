/** Tells tenants of the end of their responses and batches: each event is kept, and delivered by the engine until its endpoint has taken it. */

import { hash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { BackgroundEngine, BackgroundWorker, ClaimedRun } from '../../ports/background/background-engine.ts';
import { notify, type Reports } from '../../ports/hooks.ts';
import { type OptionCheck, withMethods } from '../../ports/host/options-check.ts';
import { retryAfterMs } from '../../ports/host/retry-after.ts';
import { FairSlots } from '../../ports/queues/fair-places.ts';
import type { Sealer } from '../../ports/sealer.ts';
import { fromStore, isRunning, type ResponseKey, type ResponseStore, storeFailure } from '../../ports/store.ts';
import { toApiError } from '../../protocol/errors.ts';
import { recordKey } from '../../protocol/ids.ts';
import { thrownText } from '../../protocol/record.ts';
import { addDelivery, readDeliveries, type WebhookDelivery } from './deliveries.ts';
import {
  type EndpointSource,
  endpointKey,
  isVerified,
  readEndpoints,
  verifyEndpoint,
  type WebhookEndpoint,
  type WebhookFetcher,
} from './endpoints.ts';
import { type SentEvent, type WebhookEvent, webhookPayload } from './events.ts';
import { changeOutbox, findOutbox, type Outbox, putEvent } from './outbox.ts';
import { nextAttemptMs } from './retry-schedule.ts';
import { signedHeaders } from './sign.ts';

/** Made by `createWebhooks`; the same object serves the routers, batches and the inspector. */
export interface Webhooks {
  /**
   * Keeps the event for each endpoint of the tenant that wants it and is verified, and hands it to the engine. Publishing the same
   * event again changes nothing. Throws `store_error` if it could not be kept.
   */
  publish(event: WebhookEvent): Promise<void>;
  /**
   * Sends the endpoint a signed challenge, and returns the verification to keep with it. Throws `webhook_unverified` if it does not
   * answer with the challenge.
   */
  verify(scope: string, endpoint: Pick<WebhookEndpoint, 'url' | 'secret'>): Promise<string>;
  /** The tenant's last deliveries, newest first: at most 50. Throws `store_error`. */
  deliveries(scope: string): Promise<readonly WebhookDelivery[]>;
  /** The engine, whose responses in the background are published once they have ended. The routers use it. */
  watch(engine: BackgroundEngine, store: ResponseStore): BackgroundEngine;
  /** Gives back what is being delivered, and closes the engine and the guard. May be called twice. */
  close(): Promise<void>;
}

/** Whether the value is what `createWebhooks` makes. */
export const isWebhooks: OptionCheck = (value) =>
  withMethods('publish', 'watch', 'deliveries')(value) === true || 'made by createWebhooks()';

/** What webhooks need of the host. */
interface WebhookSettings {
  readonly engine: BackgroundEngine;
  readonly store: ResponseStore;
  readonly endpoints: EndpointSource;
  readonly fetcher: WebhookFetcher;
  readonly sealer: Sealer;
  readonly hooks: Reports;
  /** One delivery, in milliseconds. */
  readonly timeoutMs: number;
  /** Deliveries at the same time in this process, of all tenants. */
  readonly parallelDeliveries: number;
}

type Outcome = Awaited<ReturnType<BackgroundWorker['run']>>;

/** The pause after a failure of the store, and before a tenant that has no place is looked at again. */
const RETRY_MS = 1000;
/** Attempts to publish the end of a response, in a process whose engine would not try again: for about eight minutes. */
const PUBLISH_TRIES = 16;
const FIRST_PUBLISH_MS = 100;
/** The longest pause between attempts to publish, and to store the outcome of a delivery. */
const MAX_PAUSE_MS = 60_000;
/** The endpoint has said that it is gone for good. */
const GONE = 410;

/** Begins to deliver. */
export function openWebhooks(settings: WebhookSettings): Webhooks {
  const deliverer = new Deliverer(settings);
  settings.engine.start(deliverer);
  let closing: Promise<void> | undefined;
  return {
    publish: (event) => deliverer.publish(event),
    verify: (scope, endpoint) =>
      verifyEndpoint(scope, endpoint, { ...settings, signal: AbortSignal.timeout(settings.timeoutMs) }),
    deliveries: (scope) => readDeliveries(settings.store, scope),
    watch: (engine, store) => watched(engine, store, deliverer),
    close() {
      closing ??= (async () => {
        await settings.engine.release();
        await settings.engine.close();
        await settings.fetcher.close?.();
      })();
      return closing;
    },
  };
}

/** The worker of all deliveries in this process. */
class Deliverer implements BackgroundWorker {
  private readonly settings: WebhookSettings;
  private readonly slots: FairSlots;

  constructor(settings: WebhookSettings) {
    this.settings = settings;
    this.slots = new FairSlots({ places: settings.parallelDeliveries, waiting: 0 });
  }

  async publish(event: WebhookEvent): Promise<void> {
    const { store, sealer } = this.settings;
    const { scope, subject, type } = event;
    // Always the same for an event, so that receivers know one that arrives twice.
    const id = `evt_${hash('sha256', JSON.stringify([scope, subject, type])).slice(0, 32)}`;
    const sent: SentEvent = { id, type, at: Date.now() };
    for (const endpoint of await readEndpoints(this.settings, scope)) {
      if (endpoint.events && !endpoint.events.includes(type)) continue;
      if (!isVerified(endpoint, scope, sealer)) {
        await this.note(scope, {
          ...{ id: sent.id, type, subject, endpoint: endpointOrigin(endpoint.url), at: sent.at, attempt: 0 },
          ...{ outcome: 'refused', status: null, error: NOT_VERIFIED, nextAt: null },
        });
        continue;
      }
      const name = endpointKey(endpoint);
      const key = { scope, id: recordKey('webhook', `${name}_${subject}`) };
      await this.submit(key, await putEvent(store, key, { subject, endpoint: name }, sent));
    }
  }

  async run({ key, signal }: ClaimedRun): Promise<Outcome> {
    const { takesOver } = this.settings.engine;
    for (;;) {
      try {
        return await this.deliverNext(key, signal);
      } catch (error) {
        if (signal.aborted) return 'released';
        this.report(error);
        await pause(RETRY_MS, undefined, { signal, ref: false }).catch(() => {});
        if (takesOver || signal.aborted) return 'released';
      }
    }
  }

  /** Receives what the engine's database throws. */
  onError(error: unknown): void {
    this.report(storeFailure(error));
  }

  /** Reports what may also be the host's own, such as its function of endpoints. */
  report(error: unknown): void {
    notify(this.settings.hooks, 'onError', toApiError(error), { requestId: 'webhooks' });
  }

  private async deliverNext({ scope, id: name }: ResponseKey, signal: AbortSignal): Promise<Outcome> {
    const { store } = this.settings;
    const at = name.lastIndexOf('.');
    const key = { scope, id: name.slice(0, at) };
    const outbox = await findOutbox(store, key);
    const event = outbox?.events[outbox.next];
    if (!outbox || !event) return 'ended';
    // The job of an earlier attempt, which was killed before it could hand in the next one.
    if (outbox.job !== Number(name.slice(at + 1))) return this.goOn(key, outbox);
    // An engine of the host's own may not know of delays.
    if (outbox.dueAt > Date.now()) await pause(outbox.dueAt - Date.now(), undefined, { signal, ref: false });
    if (!this.slots.hasPlace(scope)) {
      // Another one is looked at meanwhile: a tenant whose endpoint is slow must not take all the engine has.
      const later = { dueAt: Date.now() + RETRY_MS, job: outbox.job + 1 };
      return this.goOn(key, await changeOutbox(store, key, (now) => ({ ...now, ...later })));
    }
    await this.slots.enter(scope);
    let delivery: WebhookDelivery;
    try {
      delivery = await this.deliver(scope, outbox, event, signal);
    } finally {
      this.slots.leave(scope);
    }
    signal.throwIfAborted();
    await this.note(scope, delivery);
    const isOver = delivery.outcome !== 'failed';
    const edit = (now: Outbox) => {
      // Another process has delivered it meanwhile.
      if (now.job !== outbox.job) return undefined;
      const job = now.job + 1;
      return isOver
        ? { ...now, job, next: now.next + 1, failures: 0, dueAt: 0 }
        : { ...now, job, failures: now.failures + 1, dueAt: delivery.nextAt ?? 0 };
    };
    // A store that is full can be read: without this outcome the event would be sent again, each second.
    for (let pauseMs = RETRY_MS; ; pauseMs = Math.min(pauseMs * 2, MAX_PAUSE_MS)) {
      try {
        return await this.goOn(key, await changeOutbox(store, key, edit));
      } catch (error) {
        if (signal.aborted) throw error;
        this.report(error);
        await pause(pauseMs, undefined, { signal, ref: false });
      }
    }
  }

  /** Hands in the next attempt, or the next event. */
  private async goOn(key: ResponseKey, outbox: Outbox | undefined): Promise<'ended'> {
    if (outbox) await this.submit(key, outbox);
    return 'ended';
  }

  private async submit({ scope, id }: ResponseKey, outbox: Outbox): Promise<void> {
    if (outbox.next >= outbox.events.length) return;
    const delayMs = Math.max(outbox.dueAt - Date.now(), 0);
    await fromStore(() => this.settings.engine.submit({ scope, id: `${id}.${outbox.job}` }, { delayMs }));
  }

  /** Sends the event once. Rejects only if the signal is aborted. */
  private async deliver(
    scope: string,
    outbox: Outbox,
    event: SentEvent,
    signal: AbortSignal,
  ): Promise<WebhookDelivery> {
    const { sealer, timeoutMs } = this.settings;
    const found = await readEndpoints(this.settings, scope);
    const endpoint = found.find((each) => endpointKey(each) === outbox.endpoint);
    const about = {
      ...{ id: event.id, type: event.type, subject: outbox.subject, at: Date.now(), attempt: outbox.failures + 1 },
      endpoint: endpoint ? endpointOrigin(endpoint.url) : '',
    };
    if (!endpoint || !isVerified(endpoint, scope, sealer)) {
      const error = endpoint ? NOT_VERIFIED : 'The tenant has no such endpoint any more.';
      return { ...about, outcome: 'refused', status: null, error, nextAt: null };
    }
    const answer = await this.post(endpoint, outbox, event, AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]));
    signal.throwIfAborted();
    if (answer.error === null)
      return { ...about, outcome: 'delivered', status: answer.status, error: null, nextAt: null };
    const now = Date.now();
    const schedule = { now, eventAt: event.at, random: Math.random(), wantedMs: answer.wantedMs };
    const pauseMs = answer.status === GONE ? undefined : nextAttemptMs(outbox.failures + 1, schedule);
    const { status, error } = answer;
    if (pauseMs === undefined) return { ...about, outcome: 'given_up', status, error, nextAt: null };
    return { ...about, outcome: 'failed', status, error, nextAt: now + pauseMs };
  }

  private async post(
    { url, secret }: WebhookEndpoint,
    { subject }: Outbox,
    event: SentEvent,
    signal: AbortSignal,
  ): Promise<{
    readonly status: number | null;
    readonly error: string | null;
    readonly wantedMs?: number | undefined;
  }> {
    const payload = webhookPayload(event, { id: subject });
    const headers = signedHeaders(event.id, Date.now(), payload, secret);
    try {
      const { fetcher } = this.settings;
      const response = await fetcher.fetch(url, { method: 'POST', headers, body: payload, redirect: 'manual', signal });
      await response.body?.cancel().catch(() => {});
      const { status, ok } = response;
      if (ok) return { status, error: null };
      // A redirect is followed nowhere: the endpoint that was verified is this one.
      const wantedMs = retryAfterMs({ 'retry-after': response.headers.get('retry-after') ?? undefined });
      return { status, error: `The endpoint answered with the status ${status}.`, wantedMs };
    } catch (error) {
      return { status: null, error: thrownText(error).slice(0, 300) };
    }
  }

  /** A delivery that is not noted is no failure of it. */
  private async note(scope: string, delivery: WebhookDelivery): Promise<void> {
    await addDelivery(this.settings.store, scope, delivery).catch((error) => this.report(error));
  }
}

const NOT_VERIFIED = 'The endpoint is not verified for this tenant.';

function endpointOrigin(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : '';
}

/** The same engine; what its worker brings to an end is published before the engine forgets it. */
function watched(engine: BackgroundEngine, store: ResponseStore, deliverer: Deliverer): BackgroundEngine {
  /** Returns false while the end is not stored yet: whoever cancels a response stops its run before. */
  async function publishEnd({ scope, id }: ResponseKey): Promise<boolean> {
    const stored = await fromStore(() => store.get({ scope, id }));
    if (stored?.resource.background !== true) return true;
    if (isRunning(stored)) return false;
    await deliverer.publish({ scope, subject: id, type: `response.${stored.resource.status}` });
    return true;
  }

  async function ended(key: ResponseKey, signal: AbortSignal): Promise<Outcome> {
    for (let tries = 1; ; tries += 1) {
      try {
        if (await publishEnd(key)) return 'ended';
      } catch (error) {
        deliverer.report(error);
      }
      const pauseMs = Math.min(FIRST_PUBLISH_MS * 2 ** (tries - 1), MAX_PAUSE_MS);
      await pause(pauseMs, undefined, { signal, ref: false }).catch(() => {});
      // The next process finds the response ended, and publishes that.
      if (engine.takesOver) return 'released';
      if (signal.aborted || tries >= PUBLISH_TRIES) return 'ended';
    }
  }

  return {
    name: engine.name,
    takesOver: engine.takesOver,
    start: (worker) =>
      engine.start({
        async run(claimed) {
          const outcome = await worker.run(claimed);
          return outcome === 'ended' ? ended(claimed.key, claimed.signal) : outcome;
        },
        onError: (error) => worker.onError(error),
      }),
    submit: (key, terms) => engine.submit(key, terms),
    release: () => engine.release(),
    close: () => engine.close(),
  };
}
