/** Records tool calls as OpenTelemetry spans and metrics. */

import type { ToolProvider } from '../../ports/tool-provider.ts';
import { context } from './api.ts';
import type { Instruments } from './instruments.ts';
import { beginOperation } from './operation.ts';

/** The same tools, whose calls are recorded. */
export function tracedTools(tools: ToolProvider, instruments: () => Instruments): ToolProvider {
  const { check, objection, close, status } = tools;
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
    ...(check ? { check: check.bind(tools) } : {}),
    ...(objection ? { objection: objection.bind(tools) } : {}),
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
