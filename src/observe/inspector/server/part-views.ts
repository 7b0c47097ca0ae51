/** The parts around the responses: servers of tools, and model servers. */
import type { ProvidedTool, ToolProvider, ToolServerStatus } from '../../../ports/tool-provider.ts';
import type { ModelServerStatus, Upstream } from '../../../ports/upstream.ts';
import { isPromise, isRecord } from '../../../protocol/record.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';
import type { Count, ToolCounts, UpstreamCounts } from '../observing/counts.ts';
import { boundedJson } from '../recording/bounded-text.ts';

/** How long a provider may take to list its tools, in milliseconds. */
const LIST_MS = 2000;
const MAX_TOOLS = 1000;
const MAX_SCHEMA = 20_000;
const MAX_STATUS = 50_000;

/** The source of the tools of the observed routers. */
interface ToolParts {
  readonly providers: ReadonlySet<ToolProvider<never>>;
  readonly toolCounts: ToolCounts;
  readonly choosesTools: boolean;
}

/** The servers of tools, each with its tools and their calls. */
export async function toolView({ providers, toolCounts, choosesTools }: ToolParts) {
  const parts = await Promise.all(
    [...providers].map(async (provider) => {
      const states = await listOr([], () => provider.status?.() ?? []);
      const isStatus = (value: unknown) =>
        isRecord(value) && typeof value.label === 'string' && typeof value.state === 'string';
      return { states: states.filter(isStatus), tools: await listTools(provider) };
    }),
  );
  const states = parts.flatMap(({ states }) => states);
  const tools = parts.flatMap(({ tools }) => tools).slice(0, MAX_TOOLS);
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
    [...providers].map(async (provider) => (await listTools(provider)).map((tool) => ({ tool, provider }))),
  );
  return lists.flat();
}

async function listTools(provider: ToolProvider<never>): Promise<readonly ProvidedTool[]> {
  const tools = await listOr([], () => provider.list(AbortSignal.timeout(LIST_MS)));
  return tools.filter((tool: unknown) => {
    return isRecord(tool) && typeof tool.server === 'string' && typeof tool.name === 'string';
  });
}

/** The list, or `otherwise` if it fails or takes too long: a host's own provider may fail in any way. */
async function listOr<Value>(
  otherwise: readonly Value[],
  read: () => readonly Value[] | Promise<readonly Value[]>,
): Promise<readonly Value[]> {
  try {
    const answer = read();
    const list = isPromise(answer) ? await Promise.race([answer, resolveLater(otherwise)]) : answer;
    return Array.isArray(list) ? list : otherwise;
  } catch {
    return otherwise;
  }
}

function resolveLater<Value>(value: Value): Promise<Value> {
  return new Promise((resolve) => setTimeout(resolve, LIST_MS, value).unref());
}

function serverView(
  label: string,
  state: ToolServerStatus | undefined,
  tools: readonly ProvidedTool[],
  counts: ReadonlyMap<string, Count>,
) {
  const names = [...new Set([...tools.map(({ name }) => name), ...counts.keys()])].sort();
  const { protocol } = tools.find((tool) => tool.protocol) ?? {};
  let [calls, failures, totalMs] = [0, 0, 0];
  for (const count of counts.values()) {
    calls += count.calls;
    failures += count.failures;
    totalMs += count.totalMs;
  }
  const transport: unknown = state && 'transport' in state ? state.transport : undefined;
  return {
    label,
    transport: typeof transport === 'string' ? transport : null,
    total: { calls, failures, mean: calls > 0 ? totalMs / calls : null },
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
        schema: tool?.parameters ? boundedJson(tool.parameters, MAX_SCHEMA).text : '',
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
    servers: listModelServers(upstream),
    status: await readUpstreamStatus(upstream),
    health:
      count.calls === 0
        ? 'unused'
        : count.lastError !== null && count.lastError.at === count.lastAt && Date.now() - count.lastAt < FAILURE_MS
          ? 'failing'
          : 'ok',
  }));
  return { upstreams: await Promise.all(views) };
}

/** Failures count for a minute, as in the status of a router. */
const FAILURE_MS = 60_000;

/** The most servers of one upstream that are shown. */
const MAX_SERVERS = 256;

/** The servers behind an upstream that chooses among several; a host's own upstream may fail in any way. */
function listModelServers(upstream: Upstream): readonly ModelServerStatus[] {
  try {
    return (upstream.servers?.() ?? []).slice(0, MAX_SERVERS).map(({ name, state, inFlight, lastError }) => ({
      ...{ name: String(name), state, inFlight: Number(inFlight) },
      lastError: typeof lastError === 'string' ? withoutKeys(lastError) : null,
    }));
  } catch {
    return [];
  }
}

/** A host's own upstream may have a status of any shape. */
async function readUpstreamStatus(upstream: Upstream & { readonly status?: unknown }): Promise<string | null> {
  if (typeof upstream.status !== 'function') return null;
  try {
    const status: unknown = await Promise.race([upstream.status(), resolveLater(undefined)]);
    return status === undefined ? null : withoutKeys(boundedJson(status, MAX_STATUS).text);
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

const NO_COUNT: Count = { calls: 0, failures: 0, totalMs: 0, longestMs: 0, lastAt: 0, lastError: null };
