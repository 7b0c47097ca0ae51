/** The routes of both batch APIs, and how they end. */
import { endpointFor, type Handler } from '../../endpoint/endpoint.ts';
import { ANTHROPIC } from '../../endpoint/models.ts';
import type { Route } from '../../endpoint/routes.ts';
import { BatchRecords } from '../batch-records.ts';
import { BatchRunner } from '../running/batch-runner.ts';
import type { BatchesSettings } from '../settings.ts';
import { MessageBatchEndpoints } from './anthropic-endpoints.ts';
import { BatchEndpoints } from './openai-endpoints.ts';

/** The routes over these settings; the engine begins to claim batches. */
export function batchRoutes(settings: BatchesSettings): readonly Route[] {
  const records = new BatchRecords(settings.store, settings.batchLimits.keptMs);
  const runner = new BatchRunner(settings, records);
  settings.engine.start(runner);
  const batches = new BatchEndpoints(settings, records, runner);
  const messages = new MessageBatchEndpoints(settings, records, runner);
  const on = (handler: Handler) => endpointFor(handler, settings);
  const onMessages = (handler: Handler) => endpointFor(handler, { ...settings, envelopeOf: () => ANTHROPIC });
  return [
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
}
