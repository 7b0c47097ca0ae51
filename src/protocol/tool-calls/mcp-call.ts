/** A call of a tool that the server runs, with its result in the same item. */
import type { McpCallItem } from '../items.ts';
import { lazily } from '../json/lazy-schema.ts';
import { kinds } from '../json/schema-kinds.ts';
import { isPresent, plainText } from '../record.ts';
import type { ShownCall, WrittenToolCallKind } from './kind.ts';
import { toModelSafeName } from './names/tool-names.ts';
import { callErrorText, executionError } from './results/call-error.ts';
import { toolOutputText } from './results/output-text.ts';

/** `mcp_call` */
export const mcpCall: WrittenToolCallKind & Required<Pick<WrittenToolCallKind, 'finished'>> = {
  type: 'mcp_call',
  itemSchema: lazily((z) => z.object({ id: kinds().optionalText, name: kinds().text, arguments: kinds().text })),
  keptTerms: ['allowed_tools', 'require_approval', 'headers'],
  idPrefix: 'mcp',
  runBy: 'server',
  field: 'arguments',
  argumentsEvent: 'mcp_call_arguments',
  states: { opened: 'in_progress', completed: 'completed', failed: 'failed' },
  item: (call, status) => mcpCallItem(call, { status, output: null, error: null }),
  finished: (call, { output, failed, error }) => {
    const text = toolOutputText(output);
    return failed
      ? mcpCallItem(call, { status: 'failed', output: null, error: error ?? executionError(text) })
      : mcpCallItem(call, { status: 'completed', output: text, error: null });
  },
  answered: ({ call_id: id, name, arguments: text, output, error }) => ({
    id,
    name,
    arguments: text,
    output: output ?? callErrorText(error),
    failed: (output === null || output === undefined) && Boolean(error),
  }),
  calledTool: ({ server_label: server, name }) => ({ server: plainText(server), name: plainText(name) }),
  hasResult: ({ output, error }) => isPresent(output) || isPresent(error),
  lacksResult: ({ output, error }) => !output && !error,
  modelName: ({ server_label: server, name }, names) =>
    names.of(plainText(server), plainText(name)) ?? toModelSafeName(plainText(name)),
};

function mcpCallItem(
  { id, owner, arguments: text, approvalRequestId }: ShownCall,
  { status, output, error }: Pick<McpCallItem, 'status' | 'output' | 'error'>,
): McpCallItem {
  return {
    id,
    type: 'mcp_call',
    status,
    approval_request_id: approvalRequestId,
    arguments: text,
    error,
    name: owner.name,
    output,
    server_label: owner.server,
  };
}
