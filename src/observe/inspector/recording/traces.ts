/** The traces of agents that the inspector keeps: bounded together, for each tenant, and for each trace. */
import type { AgentSpan, TraceBatch } from '../../../ports/host/trace-receiver.ts';
import { truncateText } from '../../../protocol/printable.ts';
import { textOrNone } from '../../../protocol/record.ts';
import { type BoundedText, boundedValue, NO_TEXT } from './bounded-text.ts';

/** One step of a trace; times in milliseconds since the epoch. */
export interface RecordedSpan
  extends Pick<AgentSpan, 'id' | 'parentId' | 'startedAt' | 'endedAt' | 'error' | 'responseId'> {
  readonly type: string;
  /** What it ran, such as an agent's or a tool's name; empty for none. */
  readonly name: string;
  readonly data: BoundedText;
}

/** One trace of a tenant. */
export interface RecordedTrace {
  readonly scope: string;
  readonly id: string;
  name: string;
  groupId: string | null;
  readonly spans: RecordedSpan[];
  /** Spans that were not kept. */
  dropped: number;
  bytes: number;
}

interface TraceLimits {
  readonly maxTraces: number;
  readonly maxBytes: number;
  /** Characters of the data of one span. */
  readonly characters: number;
  /** Whether the data of spans is kept, which holds prompts and answers. */
  readonly keepsText: boolean;
}

const MAX_SPANS = 1000;
/** One trace may take one part in so many of the bytes of all. */
const TRACE_SHARE = 4;
const OWN_BYTES = 512;
const SPAN_BYTES = 512;
const BYTES_PER_CHARACTER = 2;
const MAX_ERROR = 2000;

/** Holds the newest traces. A tenant that has more than its share loses its own oldest first. */
export class TraceLog {
  private readonly limits: TraceLimits;
  private readonly changed: () => void;
  /** Each tenant's, oldest first. */
  private readonly tenants = new Map<string, { bytes: number; readonly traces: Map<string, RecordedTrace> }>();
  private readonly all = new Set<RecordedTrace>();
  private bytes = 0;

  constructor(limits: TraceLimits, changed: () => void) {
    this.limits = limits;
    this.changed = changed;
  }

  /** From the newest to the oldest. */
  newestFirst(): readonly RecordedTrace[] {
    return [...this.all].reverse();
  }

  /** Those of the tenant with a span of this response. */
  forResponse(scope: string, responseId: string | undefined): readonly RecordedTrace[] {
    if (responseId === undefined) return [];
    const traces = [...(this.tenants.get(scope)?.traces.values() ?? [])];
    return traces.filter(({ spans }) => spans.some((span) => span.responseId === responseId));
  }

  add({ scope, traces, spans }: TraceBatch): void {
    for (const { id, name, groupId } of traces) Object.assign(this.traceOf(scope, id), { name, groupId });
    for (const span of spans) this.addSpan(this.traceOf(scope, span.traceId), span);
    this.evict(scope);
    this.changed();
  }

  clear(): void {
    this.tenants.clear();
    this.all.clear();
    this.bytes = 0;
  }

  private traceOf(scope: string, id: string): RecordedTrace {
    const tenant = this.tenants.get(scope) ?? { bytes: 0, traces: new Map() };
    this.tenants.set(scope, tenant);
    const known = tenant.traces.get(id);
    if (known) return known;
    const trace: RecordedTrace = { scope, id, name: '', groupId: null, spans: [], dropped: 0, bytes: 0 };
    tenant.traces.set(id, trace);
    this.all.add(trace);
    this.count(trace, OWN_BYTES);
    return trace;
  }

  private addSpan(trace: RecordedTrace, { data, error, ...span }: AgentSpan): void {
    if (trace.spans.length >= MAX_SPANS || trace.bytes >= this.limits.maxBytes / TRACE_SHARE) {
      trace.dropped += 1;
      return;
    }
    const { id, parentId, startedAt, endedAt, responseId } = span;
    const { keepsText, characters: limit } = this.limits;
    const { bounded, characters } = keepsText ? boundedValue(data, limit) : { bounded: NO_TEXT, characters: 0 };
    const message = error === null ? null : keepsText ? truncateText(error, MAX_ERROR) : 'The step failed.';
    trace.spans.push({
      ...{ id, parentId, startedAt, endedAt, responseId, error: message, data: bounded },
      ...{ type: data.type, name: truncateText(textOrNone(data.name) || textOrNone(data.model), MAX_ERROR) },
    });
    this.count(trace, SPAN_BYTES + characters * BYTES_PER_CHARACTER);
  }

  private count(trace: RecordedTrace, bytes: number): void {
    trace.bytes += bytes;
    this.bytes += bytes;
    const tenant = this.tenants.get(trace.scope);
    if (tenant) tenant.bytes += bytes;
  }

  private evict(scope: string): void {
    while (this.all.size > 0 && (this.bytes > this.limits.maxBytes || this.all.size > this.limits.maxTraces)) {
      const growing = this.tenants.get(scope);
      const share = this.limits.maxBytes / this.tenants.size;
      const [own] = growing?.traces.values() ?? [];
      const [oldest] = this.all;
      const trace = own && growing && growing.bytes > share ? own : oldest;
      if (trace) this.drop(trace);
    }
  }

  private drop(trace: RecordedTrace): void {
    const tenant = this.tenants.get(trace.scope);
    this.count(trace, -trace.bytes);
    this.all.delete(trace);
    tenant?.traces.delete(trace.id);
    if (tenant?.traces.size === 0) this.tenants.delete(trace.scope);
  }
}
