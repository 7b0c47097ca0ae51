/** The headers with which the lines of a batch are sent: those of the request that created it, which are kept sealed. */
import type { Sealer } from '../../../ports/sealer.ts';
import type { ResponseKey } from '../../../ports/store.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { Batch } from '../batch.ts';

/** What belongs to the other request's body or connection. */
const OWN_HEADERS: ReadonlySet<string> = new Set([
  ...[
    'accept',
    'accept-encoding',
    'connection',
    'content-encoding',
    'content-length',
    'content-type',
    'expect',
    'host',
  ],
  ...['idempotency-key', 'keep-alive', 'te', 'trailer', 'transfer-encoding', 'upgrade', 'x-request-id'],
  ...['x-stainless-retry-count', 'x-stainless-read-timeout', 'x-stainless-timeout'],
]);

const boundTo = ({ scope, id }: ResponseKey) => ['headers of a batch', scope, id];

/** The headers as the batch keeps them: they may hold credentials. */
export function sealedHeaders(headers: Headers, key: ResponseKey, sealer: Sealer): string {
  const passed = [...headers].filter(([name]) => !OWN_HEADERS.has(name));
  return sealer.seal(Object.fromEntries(passed), boundTo(key));
}

/** The headers of a line. Throws where they cannot be opened: without credentials a line must not run. */
export function lineHeaders(batch: Batch, requestId: string, sealer: Sealer): Headers {
  const opened = sealer.open(batch.state.headers, boundTo(batch));
  if (!isRecord(opened)) throw new Error('The headers of a batch cannot be opened: is secret the same?');
  // The cast: only `sealedHeaders` seals them.
  const headers = new Headers(opened as Record<string, string>);
  headers.set('content-type', 'application/json');
  headers.set('x-request-id', requestId);
  return headers;
}
