/** The list of responses, filtered and in pages. */
import type { Recording } from '../recording/recording.ts';
import { preview } from '../recording/request-text.ts';
import type { Ring } from '../recording/ring.ts';
import { summarize } from './summary.ts';

const API_NAMES = { responses: 'responses', 'chat-completions': 'chat', messages: 'messages' } as const;
const MAX_TOOL_NAMES = 8;

/** One line of the list; times in milliseconds. */
export function listRow(recording: Recording) {
  const { number, info, startedAt, status, api, usage, cost, error, tools, items } = recording;
  const transport = info.background ? 'background' : info.stream ? 'stream' : 'json';
  return {
    number,
    id: info.responseId,
    requestId: info.requestId,
    tenant: info.scope,
    model: info.model,
    api: status === 'refused' ? '' : `${API_NAMES[api]} ${transport}`,
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
    tools: [...new Set(tools.map(({ name }) => name))].slice(0, MAX_TOOL_NAMES),
    toolFailures: tools.filter((tool) => tool.error !== undefined).length,
    items: items.length,
    error: error?.code ?? null,
    /** The beginning of the error's message. */
    problem: error ? preview(error.message) : null,
  };
}

const MAX_PAGE = 200;
const DEFAULT_PAGE = 50;
/** The maximum number of values that a filter offers. */
const MAX_CHOICES = 200;

/** A page of the list. `q` is searched in all that a line shows; `before` is the number of the last line of the page before. */
export function listView(ring: Ring, query: URLSearchParams) {
  const all = ring.newestFirst();
  const matches = buildFilter(query);
  const found = all.filter(matches);
  const before = Number(query.get('before') ?? Number.POSITIVE_INFINITY);
  const limit = Math.min(Math.max(Math.trunc(Number(query.get('limit'))) || DEFAULT_PAGE, 1), MAX_PAGE);
  const page = found.filter(({ number }) => number < before).slice(0, limit + 1);
  return {
    version: ring.version,
    kept: ring.size,
    evicted: ring.evicted,
    bytes: ring.bytes,
    found: found.length,
    more: page.length > limit,
    summary: summarize(found),
    models: choices(all, ({ info }) => info.model),
    tenants: choices(all, ({ info }) => info.scope),
    rows: page.slice(0, limit).map(listRow),
  };
}

function buildFilter(query: URLSearchParams): (recording: Recording) => boolean {
  const [status, model, tenant] = ['status', 'model', 'tenant'].map((name) => query.get(name) || undefined);
  const text = query.get('q')?.trim().toLowerCase();
  return (recording) => {
    const { info } = recording;
    if (status !== undefined && recording.status !== status) return false;
    if (model !== undefined && info.model !== model) return false;
    if (tenant !== undefined && info.scope !== tenant) return false;
    if (!text) return true;
    const { asked, error, tools, previousId, conversation } = recording;
    const { responseId, requestId, model: ownModel, scope } = info;
    const texts = [
      responseId,
      requestId,
      ownModel,
      scope,
      asked,
      error?.code,
      error?.message,
      previousId,
      conversation,
    ];
    if (texts.some((each) => each?.toLowerCase().includes(text))) return true;
    return tools.some(({ name, server }) => name.toLowerCase().includes(text) || server.toLowerCase().includes(text));
  };
}

function choices(all: readonly Recording[], of: (recording: Recording) => string): readonly string[] {
  const found = new Set<string>();
  for (const recording of all) if (found.size < MAX_CHOICES && of(recording) !== '') found.add(of(recording));
  return [...found].sort();
}
