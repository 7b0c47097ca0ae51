/** The last batches of a tenant, and the last deliveries of its webhooks: they are in the store, so that every process shows those of all. */
import { type JsonObject, plainText, textOrNone } from '../../../protocol/record.ts';
import type { Ring } from '../recording/ring.ts';
import type { InspectorSettings } from './options.ts';

const MAX_TENANTS = 200;

/** What there is to show of the tenant; null where the inspector has no source of it, or no tenant is named. */
export async function jobView(
  tenant: string | null,
  { batches, webhooks }: Pick<InspectorSettings, 'batches' | 'webhooks'>,
  ring: Ring,
) {
  const tenants = new Set<string>();
  for (const { info } of ring.newestFirst())
    if (tenants.size < MAX_TENANTS && info.scope !== '') tenants.add(info.scope);
  return {
    version: ring.version,
    tenants: [...tenants].sort(),
    hasBatches: batches !== undefined,
    hasWebhooks: webhooks !== undefined,
    batches: tenant === null || !batches ? null : (await batches.recent(tenant)).map(batchEntry),
    deliveries: tenant === null || !webhooks ? null : await webhooks.deliveries(tenant),
  };
}

function batchEntry(batch: JsonObject) {
  const { id, endpoint, status, created_at: seconds, request_counts: counts } = batch;
  // The cast: a batch has these counts.
  const { total, completed, failed } = counts as Readonly<Record<'total' | 'completed' | 'failed', number>>;
  return {
    ...{ id: plainText(id), endpoint: plainText(endpoint), status: textOrNone(status), total, completed, failed },
    at: Number(seconds) * 1000,
  };
}
