/** The parts around the responses: servers of tools, and model servers. */
import type { ProvidedTool, ToolProvider, ToolServerStatus } from '../../../ports/tool-provider.ts';
import type { ModelServerStatus, Upstream } from '../../../ports/upstream.ts';
import { isPromise, isRecord } from '../../../protocol/record.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';
import type { Count, ToolCounts, UpstreamCount, UpstreamCounts } from '../observing/counts.ts';
import { keptJson } from '../recording/kept.ts';

/** How long a provider may take to list its tools, in milliseconds. */
const LIST_MS = 2000;
const MOST_TOOLS = 1000;
const LONGEST_SCHEMA = 20_000;
const LONGEST_STATUS = 50_000;

/** The source of the tools of the observed routers. */
interface ToolParts {
  readonly providers: ReadonlySet<ToolProvider<never>>;
  readonly toolCounts: ToolCounts;
  readonly choosesTools: boolean;
}

/** The servers of tools, each with its tools and their calls. */
export async function toolView({ providers, toolCounts, choosesTools }: ToolParts) {
  const parts = await Promise.all([...providers].map(partsOf));
  const states = parts.flatMap(({ states }) => states);
  const tools = parts.flatMap(({ tools }) => tools).slice(0, MOST_TOOLS);
  const labels = new Set([
    ...states.map(({ label }) => label),
    ...tools.map(({ server }) => server),
    ...toolCounts.servers(),
  ]);
  const servers = [...labels].sort().map((label) => {
    const state = states.find((each) => each.label === label);
    const own = tools.filter(({ server }) => server === label);
    return serverView(label, state, own, toolCounts.of(label));
  });
  return { choosesTools, servers };
}

/** A tool, and who runs it. */
export interface OfferedTool {
  readonly tool: ProvidedTool;
  readonly provider: ToolProvider<never>;
}

/** The tools that the providers offer to everyone now. */
export async function offeredTools(providers: ReadonlySet<ToolProvider<never>>): Promise<readonly OfferedTool[]> {
  const lists = await Promise.all(
    [...providers].map(async (provider) => (await toolsOf(provider)).map((tool) => ({ tool, provider }))),
  );
  return lists.flat();
}

/** The view of one provider; a host's own provider may fail in any way. */
async function partsOf(provider: ToolProvider<never>) {
  const states = await attempt(() => provider.status?.() ?? [], []);
  return { states: states.filter(isState), tools: await toolsOf(provider) };
}

async function toolsOf(provider: ToolProvider<never>): Promise<readonly ProvidedTool[]> {
  const tools = await attempt(() => provider.list(AbortSignal.timeout(LIST_MS)), []);
  return tools.filter(isTool);
}

async function attempt<Value>(
  run: () => readonly Value[] | Promise<readonly Value[]>,
  otherwise: readonly Value[],
): Promise<readonly Value[]> {
  try {
    const answer = run();
    const list = isPromise(answer) ? await Promise.race([answer, late(otherwise)]) : answer;
    return Array.isArray(list) ? list : otherwise;
  } catch {
    return otherwise;
  }
}

function late<Value>(value: Value): Promise<Value> {
  return new Promise((resolve) => setTimeout(resolve, LIST_MS, value).unref());
}

function isState(value: unknown): value is ToolServerStatus {
  return isRecord(value) && typeof value.label === 'string' && typeof value.state === 'string';
}

function isTool(value: unknown): value is ProvidedTool {
  return isRecord(value) && typeof value.server === 'string' && typeof value.name === 'string';
}

function serverView(
  label: string,
  state: ToolServerStatus | undefined,
  tools: readonly ProvidedTool[],
  counts: ReadonlyMap<string, Count>,
) {
  const names = [...new Set([...tools.map(({ name }) => name), ...counts.keys()])].sort();
  const { protocol } = tools.find((tool) => tool.protocol) ?? {};
  const transport: unknown = state && 'transport' in state ? state.transport : undefined;
  return {
    label,
    transport: typeof transport === 'string' ? transport : null,
    total: sumOf([...counts.values()]),
    state: state?.state ?? null,
    error: state?.error === undefined ? null : withoutKeys(state.error),
    protocol: protocol ? `${protocol.era} ${protocol.version ?? ''}`.trim() : null,
    tools: names.map((name) => {
      const tool = tools.find((each) => each.name === name);
      return {
        name,
        isOffered: tool !== undefined,
        description: tool?.description ?? '',
        deferred: tool?.deferred ?? false,
        requestedBy: tool?.requestedBy ?? null,
        canRun: tool !== undefined && tool.requestedBy === undefined,
        schema: tool?.parameters ? keptJson(tool.parameters, LONGEST_SCHEMA).text : '',
        ...countView(counts.get(name)),
      };
    }),
  };
}

/** The model servers of the observed routers. */
export async function upstreamView({ counts }: UpstreamCounts) {
  const views = [...counts].map(async ([upstream, count]) => ({
    name: upstream.name,
    origin: upstream.origin ?? null,
    ...countView(count),
    retries: count.retries,
    firstOutput: count.firstOutputs > 0 ? count.firstOutputMs / count.firstOutputs : null,
    hosts: [...count.hosts].map(([host, tried]) => ({ host, ...tried })),
    recent: count.recent.map((call) => ({ ...call })),
    servers: serversOf(upstream),
    status: await statusOf(upstream),
    ...healthOf(count),
  }));
  return { upstreams: await Promise.all(views) };
}

/** Failures count for a minute, as in the status of a router. */
const COUNTS_MS = 60_000;

function healthOf({ calls, lastAt, lastError }: UpstreamCount) {
  if (calls === 0) return { health: 'unused' };
  const failedLast = lastError !== null && lastError.at === lastAt;
  return { health: failedLast && Date.now() - lastAt < COUNTS_MS ? 'failing' : 'ok' };
}

/** The most servers of one upstream that are shown. */
const MOST_SERVERS = 256;

/** The servers behind an upstream that chooses among several; a host's own upstream may fail in any way. */
function serversOf(upstream: Upstream): readonly ModelServerStatus[] {
  try {
    return (upstream.servers?.() ?? []).slice(0, MOST_SERVERS).map(({ name, state, inFlight, lastError }) => ({
      ...{ name: String(name), state, inFlight: Number(inFlight) },
      lastError: typeof lastError === 'string' ? withoutKeys(lastError) : null,
    }));
  } catch {
    return [];
  }
}

/** A host's own upstream may have a status of any shape. */
async function statusOf(upstream: Upstream & { readonly status?: unknown }): Promise<string | null> {
  if (typeof upstream.status !== 'function') return null;
  try {
    const status: unknown = await Promise.race([upstream.status(), late(undefined)]);
    return status === undefined ? null : withoutKeys(keptJson(status, LONGEST_STATUS).text);
  } catch {
    return null;
  }
}

function countView(count: Count | undefined) {
  const { calls, failures, totalMs, longestMs, lastAt, lastError } = count ?? NO_COUNT;
  return {
    calls,
    failures,
    mean: calls > 0 ? totalMs / calls : null,
    longest: calls > 0 ? longestMs : null,
    lastAt: lastAt || null,
    lastError: lastError && { ...lastError, message: withoutKeys(lastError.message) },
  };
}

function sumOf(counts: readonly Count[]) {
  const sum = counts.reduce(
    ({ calls, failures, totalMs }, each) => ({
      calls: calls + each.calls,
      failures: failures + each.failures,
      totalMs: totalMs + each.totalMs,
    }),
    { calls: 0, failures: 0, totalMs: 0 },
  );
  return { calls: sum.calls, failures: sum.failures, mean: sum.calls > 0 ? sum.totalMs / sum.calls : null };
}

const NO_COUNT: Count = { calls: 0, failures: 0, totalMs: 0, longestMs: 0, lastAt: 0, lastError: null };
