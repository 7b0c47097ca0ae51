/** The routes of both batch APIs, and how they end. */
import type { JsonObject } from '../../../protocol/record.ts';
import { endpointFor, type Handler } from '../../endpoint/endpoint.ts';
import { ANTHROPIC } from '../../endpoint/models.ts';
import type { Route } from '../../endpoint/routes.ts';
import { BatchRecords } from '../batch-records.ts';
import { BatchRunner } from '../running/batch-runner.ts';
import type { BatchesSettings } from '../settings.ts';
import { MessageBatchEndpoints } from './anthropic-endpoints.ts';
import { batchResource } from './batch-resource.ts';
import { BatchEndpoints } from './openai-endpoints.ts';

/** The routes over these settings; the engine begins to claim batches. And the last batches of a tenant, for the host. */
export function batchRoutes(settings: BatchesSettings): {
  readonly routes: readonly Route[];
  readonly recent: (scope: string) => Promise<readonly JsonObject[]>;
  /** Gives back what runs, and closes the engine. */
  readonly drain: () => Promise<void>;
} {
  const records = new BatchRecords(settings.store, settings.batchLimits.keptMs);
  const runner = new BatchRunner(settings, records);
  settings.engine.start(runner);
  const batches = new BatchEndpoints(settings, records, runner);
  const messages = new MessageBatchEndpoints(settings, records, runner);
  const on = (handler: Handler) => endpointFor(handler, settings);
  const onMessages = (handler: Handler) => endpointFor(handler, { ...settings, envelopeOf: () => ANTHROPIC });
  const routes: readonly Route[] = [
    { method: 'POST', path: '/batches', endpoint: on((request) => batches.create(request)) },
    { method: 'GET', path: '/batches', endpoint: on((request) => batches.list(request)) },
    { method: 'GET', path: '/batches/:id', endpoint: on((request) => batches.retrieve(request)) },
    { method: 'POST', path: '/batches/:id/cancel', endpoint: on((request) => batches.cancel(request)) },
    { method: 'POST', path: '/messages/batches', endpoint: onMessages((request) => messages.create(request)) },
    { method: 'GET', path: '/messages/batches', endpoint: onMessages((request) => messages.list(request)) },
    { method: 'GET', path: '/messages/batches/:id', endpoint: onMessages((request) => messages.retrieve(request)) },
    {
      method: 'POST',
      path: '/messages/batches/:id/cancel',
      endpoint: onMessages((request) => messages.cancel(request)),
    },
    {
      method: 'GET',
      path: '/messages/batches/:id/results',
      endpoint: onMessages((request) => messages.results(request)),
    },
    { method: 'DELETE', path: '/messages/batches/:id', endpoint: onMessages((request) => messages.remove(request)) },
  ];

  async function recent(scope: string): Promise<readonly JsonObject[]> {
    const query = { limit: MAX_RECENT, order: 'desc', after: undefined, before: undefined } as const;
    const pages = await Promise.all([records.page(scope, 'batch', query), records.page(scope, 'msgbatch', query)]);
    const newest = pages.flatMap((page) => page.batches).sort((one, other) => other.createdAt - one.createdAt);
    return Promise.all(
      newest.slice(0, MAX_RECENT).map(async (batch) => batchResource(batch, await runner.counts(batch))),
    );
  }

  return { routes, recent, drain: () => runner.drain() };
}

/** How many of a tenant's batches a host is shown. */
const MAX_RECENT = 50;
