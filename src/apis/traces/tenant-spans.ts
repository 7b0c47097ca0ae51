/** Which spans have arrived: clients send a batch again whose answer they have not seen. And how many a tenant sends. */
import type { AgentSpan } from '../../ports/host/trace-receiver.ts';
import { ApiError } from '../../protocol/errors.ts';

/** What is remembered of a tenant, and of all together. */
const MAX_IDS_OF_TENANT = 10_000;
const MAX_IDS = 200_000;
const MAX_TENANTS = 10_000;
const MINUTE_MS = 60_000;

interface TenantRecord {
  readonly ids: Set<string>;
  /** When its minute began, in milliseconds since the epoch, and the spans since then. */
  since: number;
  count: number;
}

/** The spans of all tenants. A tenant that has sent none for the longest time is forgotten first. */
export class TenantSpans {
  private readonly spansPerMinute: number;
  private readonly tenants = new Map<string, TenantRecord>();
  private ids = 0;

  constructor(spansPerMinute: number) {
    this.spansPerMinute = spansPerMinute;
  }

  /** Those of the spans that are new, which are remembered. Throws `rate_limit_exceeded` if they are too many; then none is. */
  take(scope: string, spans: readonly AgentSpan[], now = Date.now()): readonly AgentSpan[] {
    const record = this.tenants.get(scope) ?? { ids: new Set(), since: now, count: 0 };
    if (now - record.since >= MINUTE_MS) Object.assign(record, { since: now, count: 0 });
    const fresh = new Map<string, AgentSpan>();
    for (const span of spans) {
      const key = `${span.traceId} ${span.id}`;
      if (!record.ids.has(key) && !fresh.has(key)) fresh.set(key, span);
    }
    if (record.count + fresh.size > this.spansPerMinute) {
      const message = `You may send ${this.spansPerMinute} spans in a minute.`;
      const seconds = Math.ceil((record.since + MINUTE_MS - now) / 1000);
      throw new ApiError('rate_limit_exceeded', message, { headers: { 'retry-after': String(seconds) } });
    }
    record.count += fresh.size;
    this.remember(scope, record, fresh.keys());
    return [...fresh.values()];
  }

  private remember(scope: string, record: TenantRecord, keys: Iterable<string>): void {
    this.tenants.delete(scope);
    this.tenants.set(scope, record);
    const before = record.ids.size;
    for (const key of keys) record.ids.add(key);
    for (const oldest of record.ids) {
      if (record.ids.size <= MAX_IDS_OF_TENANT) break;
      record.ids.delete(oldest);
    }
    this.ids += record.ids.size - before;
    for (const [other, { ids }] of this.tenants) {
      if ((this.ids <= MAX_IDS && this.tenants.size <= MAX_TENANTS) || other === scope) break;
      this.tenants.delete(other);
      this.ids -= ids.size;
    }
  }
}
