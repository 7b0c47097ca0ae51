/** The list of responses, filtered and in pages. */
import type { Recording } from '../recording/recording.ts';
import { preview } from '../recording/request-text.ts';
import type { Ring } from '../recording/ring.ts';
import { summaryOf } from './summary.ts';

/** One line of the list; times in milliseconds. */
export function rowOf(recording: Recording) {
  const { number, info, startedAt, status, usage, cost, error, tools, items } = recording;
  return {
    number,
    id: info.responseId,
    requestId: info.requestId,
    tenant: info.scope,
    model: info.model,
    api: apiOf(recording),
    at: startedAt,
    status,
    asked: recording.asked,
    inputTokens: usage?.input_tokens ?? null,
    cachedTokens: usage?.input_tokens_details.cached_tokens ?? null,
    outputTokens: usage?.output_tokens ?? null,
    cost: cost ?? null,
    firstOutput: recording.firstOutput ?? null,
    duration: recording.duration ?? null,
    elapsed: recording.isRunning ? recording.elapsed() : null,
    events: recording.events,
    upstreamModel: recording.upstreamModel ?? null,
    tools: toolNames(recording),
    toolFailures: tools.filter((tool) => tool.error !== undefined).length,
    items: items.length,
    error: error?.code ?? null,
    /** The beginning of the error's message. */
    problem: error ? preview(error.message) : null,
  };
}

const SHORT = { responses: 'responses', 'chat-completions': 'chat', messages: 'messages' } as const;

function apiOf({ status, api, info }: Recording): string {
  if (status === 'refused') return '';
  const way = info.background ? 'background' : info.stream ? 'stream' : 'json';
  return `${SHORT[api]} ${way}`;
}

const MOST_TOOL_NAMES = 8;

function toolNames({ tools }: Recording): readonly string[] {
  return [...new Set(tools.map(({ name }) => name))].slice(0, MOST_TOOL_NAMES);
}

const LONGEST_PAGE = 200;
const USUAL_PAGE = 50;
/** The maximum number of values that a filter offers. */
const MOST_CHOICES = 200;

/** A page of the list. `q` is searched in all that a line shows; `before` is the number of the last line of the page before. */
export function listView(ring: Ring, query: URLSearchParams) {
  const all = ring.newestFirst();
  const matches = filterOf(query);
  const found = all.filter(matches);
  const before = Number(query.get('before') ?? Number.POSITIVE_INFINITY);
  const limit = Math.min(Math.max(Math.trunc(Number(query.get('limit'))) || USUAL_PAGE, 1), LONGEST_PAGE);
  const page = found.filter(({ number }) => number < before).slice(0, limit + 1);
  return {
    version: ring.version,
    kept: ring.size,
    evicted: ring.evicted,
    bytes: ring.bytes,
    found: found.length,
    more: page.length > limit,
    summary: summaryOf(found),
    models: choices(all, ({ info }) => info.model),
    tenants: choices(all, ({ info }) => info.scope),
    rows: page.slice(0, limit).map(rowOf),
  };
}

function filterOf(query: URLSearchParams): (recording: Recording) => boolean {
  const [status, model, tenant] = ['status', 'model', 'tenant'].map((name) => query.get(name) || undefined);
  const text = query.get('q')?.trim().toLowerCase();
  return (recording) => {
    const { info } = recording;
    if (status !== undefined && recording.status !== status) return false;
    if (model !== undefined && info.model !== model) return false;
    if (tenant !== undefined && info.scope !== tenant) return false;
    return !text || hasText(recording, text);
  };
}

function hasText({ info, asked, error, tools, previousId, conversation }: Recording, text: string): boolean {
  const { responseId, requestId, model, scope } = info;
  const shown = [responseId, requestId, model, scope, asked, error?.code, error?.message, previousId, conversation];
  if (shown.some((each) => each?.toLowerCase().includes(text))) return true;
  return tools.some(({ name, server }) => name.toLowerCase().includes(text) || server.toLowerCase().includes(text));
}

function choices(all: readonly Recording[], of: (recording: Recording) => string): readonly string[] {
  const found = new Set<string>();
  for (const recording of all) if (found.size < MOST_CHOICES && of(recording) !== '') found.add(of(recording));
  return [...found].sort();
}
