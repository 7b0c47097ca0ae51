/** Records tool calls as OpenTelemetry spans and metrics. */

import type { ToolProvider } from '../../ports/tool-provider.ts';
import { context } from './api.ts';
import { checkTelemetry, lazyInstruments, type TelemetryOptions } from './instruments.ts';
import { beginOperation } from './operation.ts';

/**
 * The same tools. Each call is a span `execute_tool <name>` and is recorded in `gen_ai.execute_tool.duration`. Neither
 * contains arguments or results. Throws a `TypeError` for a bad option.
 */
export function tracedTools(tools: ToolProvider, options: TelemetryOptions = {}): ToolProvider {
  checkTelemetry('tracedTools', options);
  const instruments = lazyInstruments(options);
  const { close, status } = tools;
  return {
    name: tools.name,
    list: (signal, request) => tools.list(signal, request),
    async call(call, signal) {
      const { tracer, toolDuration } = instruments();
      const attributes = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': call.name };
      const span = tracer.startSpan(`execute_tool ${call.name}`, {
        attributes: { ...attributes, 'gen_ai.tool.type': 'extension' },
      });
      const operation = beginOperation(span, toolDuration, attributes);
      try {
        const result = await context.with(operation.context, () => tools.call(call, signal));
        operation.end(result.isError ? new ToolFailure() : undefined);
        return result;
      } catch (error) {
        operation.end(error);
        throw error;
      }
    },
    ...(status ? { status: () => status.call(tools) } : {}),
    ...(close ? { close: () => close.call(tools) } : {}),
  };
}

/** A tool's own error message may contain anything. */
class ToolFailure extends Error {
  override readonly name = 'tool_error';

  constructor() {
    super('The tool failed.');
  }
}
