/** The options of a router, with model calls and tool calls recorded as OpenTelemetry spans and metrics. */

import { inspect } from 'node:util';
import type { ToolProvider, ToolsOf } from '../../ports/tool-provider.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { isRecord } from '../../protocol/record.ts';
import { checkTelemetry, lazyInstruments, type TelemetryOptions } from './instruments.ts';
import { tracedTools } from './traced-tools.ts';
import { tracedUpstream } from './traced-upstream.ts';

/** How calls are recorded. */
export interface TracedOptions extends TelemetryOptions {
  /** The provider of the model, as `gen_ai.provider.name`, such as `openai` or `vllm`. Default: the upstream's own name. */
  readonly provider?: string | undefined;
}

/** What is traced of a router's options; the others pass unchanged. */
export interface TraceableOptions {
  /** The model server, whose calls are recorded. */
  readonly upstream?: Upstream | undefined;
  /** The tools, whose calls are recorded. */
  readonly tools?: ToolProvider<never> | readonly ToolProvider<never>[] | ((request: never) => unknown) | undefined;
}

/**
 * Returns the options of a router with the `upstream` and the `tools` wrapped. Each model call is a span `chat <model>`, and is
 * recorded in `gen_ai.client.operation.duration`, `…time_to_first_chunk` and `gen_ai.client.token.usage`; each tool call is a span
 * `execute_tool <name>`, and is recorded in `gen_ai.execute_tool.duration`. None of them contains messages, arguments or results.
 * Trace options that several routers share once. Throws a `TypeError` for a bad option, or for options with neither of the two.
 *
 * @example
 * ```ts
 * import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
 * import { mcpTools } from 'express-open-responses/mcp';
 * import { traced } from 'express-open-responses/otel';
 *
 * const options = { upstream: chatCompletionsUpstream(), tools: mcpTools({ configFile: './mcp.json' }) };
 * const router = responsesRouter(traced(options, { provider: 'vllm' }));
 * ```
 */
export function traced<Options extends TraceableOptions>(options: Options, telemetry: TracedOptions = {}): Options {
  const isName = (value: unknown) => (typeof value === 'string' && value !== '') || 'a name';
  checkTelemetry('traced', telemetry, { provider: isName });
  if (!isRecord(options) || (options.upstream === undefined && options.tools === undefined)) {
    const shown = inspect(options, { depth: -1 });
    throw new TypeError(`traced: the options must be those of a router, with an upstream or tools, got ${shown}`);
  }
  const instruments = lazyInstruments(telemetry);
  const { upstream, tools }: TraceableOptions = options;
  const wrapped = new WeakMap<ToolProvider, ToolProvider>();
  // One wrapper for each provider, which a function of the host's may return for every request.
  const wrap = (provider: ToolProvider): ToolProvider => {
    const known = wrapped.get(provider) ?? tracedTools(provider, instruments);
    wrapped.set(provider, known);
    return known;
  };
  return {
    ...options,
    ...(upstream ? { upstream: tracedUpstream(upstream, telemetry.provider ?? upstream.name, instruments) } : {}),
    // The cast: the request is the host's own, as its function or its providers expect it.
    ...(tools ? { tools: wrappedTools(tools as ToolProvider | readonly ToolProvider[] | ToolsOf, wrap) } : {}),
  };
}

function wrappedTools(
  tools: ToolProvider | readonly ToolProvider[] | ToolsOf,
  wrap: (provider: ToolProvider) => ToolProvider,
): ToolProvider | readonly ToolProvider[] | ToolsOf {
  if (typeof tools === 'function') return (request) => tools(request).map(wrap);
  return 'call' in tools ? wrap(tools) : tools.map(wrap);
}
