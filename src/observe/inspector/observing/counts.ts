/** Counts the calls of upstreams and tools since the process began. */
import type { ToolCallInfo } from '../../../ports/hooks.ts';
import type { Upstream } from '../../../ports/upstream.ts';
import { truncateText } from '../../../protocol/printable.ts';
import type { RecordedError } from '../recording/entries.ts';
import type { EndedCall } from './observed-upstream.ts';

/** Number, failures and durations of calls; milliseconds. */
export interface Count {
  calls: number;
  failures: number;
  totalMs: number;
  longestMs: number;
  lastAt: number;
  lastError: { readonly code: string; readonly message: string; readonly at: number } | null;
}

/** The calls of one upstream. */
interface UpstreamCount extends Count {
  /** Attempts beyond the first of each call. */
  retries: number;
  firstOutputMs: number;
  firstOutputs: number;
  /** The attempts at each host. */
  readonly hosts: Map<string, HostCount>;
  /** The last calls, oldest first. */
  readonly recent: RecentCall[];
}

/** Attempts to reach one host, and how many of them failed. */
interface HostCount {
  attempts: number;
  failures: number;
}

/** One call; milliseconds. */
interface RecentCall {
  readonly at: number;
  readonly duration: number;
  readonly failed: boolean;
}

const MAX_TOOLS = 1000;
const MAX_HOSTS = 64;
const MAX_RECENT = 60;
const MAX_UPSTREAMS = 256;
const MAX_MESSAGE = 500;

/** The count of what has not been called. */
const NO_CALLS: Readonly<Count> = { calls: 0, failures: 0, totalMs: 0, longestMs: 0, lastAt: 0, lastError: null };

/** The calls of each upstream. */
export class UpstreamCounts {
  readonly counts = new Map<Upstream, UpstreamCount>();

  register(upstream: Upstream): void {
    if (this.counts.size >= MAX_UPSTREAMS || this.counts.has(upstream)) return;
    this.counts.set(upstream, {
      ...NO_CALLS,
      retries: 0,
      firstOutputMs: 0,
      firstOutputs: 0,
      hosts: new Map(),
      recent: [],
    });
  }

  add(upstream: Upstream, { duration, firstOutput, attempts: attemptCount, hosts, error }: EndedCall): void {
    const count = this.counts.get(upstream);
    if (!count) return;
    countCall(count, duration, error);
    count.retries += Math.max(attemptCount - 1, 0);
    if (firstOutput !== undefined) {
      count.firstOutputMs += firstOutput;
      count.firstOutputs += 1;
    }
    // An attempt that another one follows has failed.
    for (const [at, host] of hosts.entries()) {
      const attempts = count.hosts.get(host) ?? { attempts: 0, failures: 0 };
      if (attempts.attempts === 0 && count.hosts.size >= MAX_HOSTS) continue;
      attempts.attempts += 1;
      if (at < hosts.length - 1 || error !== undefined) attempts.failures += 1;
      count.hosts.set(host, attempts);
    }
    count.recent.push({ at: count.lastAt, duration, failed: error !== undefined });
    if (count.recent.length > MAX_RECENT) count.recent.shift();
  }
}

/** What is counted of a call of a tool. */
type EndedToolCall = Pick<ToolCallInfo, 'server' | 'name' | 'durationMs' | 'error'>;

/** The calls of each tool, by its server and its name. */
export class ToolCounts {
  private readonly counts = new Map<string, Map<string, Count>>();
  private size = 0;

  add({ server, name, durationMs, error }: EndedToolCall): void {
    const count = this.countFor(server, name);
    const failure = error === undefined ? undefined : { code: 'tool_error', message: error, status: 0 };
    if (count) countCall(count, durationMs, failure);
  }

  of(server: string): ReadonlyMap<string, Count> {
    return this.counts.get(server) ?? new Map();
  }

  servers(): readonly string[] {
    return [...this.counts.keys()];
  }

  private countFor(server: string, name: string): Count | undefined {
    const tools = this.counts.get(server) ?? new Map<string, Count>();
    const known = tools.get(name);
    if (known || this.size >= MAX_TOOLS) return known;
    this.size += 1;
    const count: Count = { ...NO_CALLS };
    this.counts.set(server, tools.set(name, count));
    return count;
  }
}

function countCall(count: Count, duration: number, error: RecordedError | undefined): void {
  count.calls += 1;
  count.totalMs += duration;
  count.longestMs = Math.max(count.longestMs, duration);
  count.lastAt = Date.now();
  if (!error) return;
  count.failures += 1;
  count.lastError = { code: error.code, message: truncateText(error.message, MAX_MESSAGE), at: count.lastAt };
}
