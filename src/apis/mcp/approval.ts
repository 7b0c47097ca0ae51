/** Asks the user of an MCP client before a tool runs that needs approval: by elicitation, where the client can. */
import type { InputRequiredResult, Server, ServerContext } from '@modelcontextprotocol/server';
import { notify } from '../../ports/hooks.ts';
import type { ToolsetEntry } from '../../ports/toolset.ts';
import { randomSeed } from '../../protocol/ids.ts';
import { isRecord } from '../../protocol/record.ts';
import type { Exchange } from './exchange.ts';
import type { McpSettings } from './settings.ts';

/** A call that needs approval. */
interface Question {
  /** The model's name for the tool. */
  readonly name: string;
  readonly entry: ToolsetEntry;
  /** The arguments as JSON. */
  readonly text: string;
}

/** The name of the question in what is sent to the client. */
const KEY = 'approval';
/** How long a question may wait for its answer, in milliseconds. */
export const QUESTION_MS = 600_000;
/** How many characters of the arguments the user is shown. */
const MAX_SHOWN = 4_000;

/** Whether the client can show its user a question. One that names no mode of elicitation has forms. */
export function canAsk(server: Server): boolean {
  const { elicitation } = server.getClientCapabilities() ?? {};
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/**
 * Whether the user has approved exactly this call, or the question to ask. An answer counts only together with a question of this
 * server about the same tool, arguments and tenant, which is not too old.
 */
export function readApproval(
  { name, entry, text }: Question,
  { mcpReq }: ServerContext,
  { request: { scope, requestId } }: Exchange,
  { sdk, sealer, host }: Pick<McpSettings, 'sdk' | 'sealer' | 'host'>,
): 'approved' | 'denied' | InputRequiredResult {
  const bound = [scope, name, text];
  const report = (approvalRequestId: string, decision: 'requested' | 'approved' | 'denied') => {
    const { server, name: toolName } = entry.tool;
    const about = { requestId, scope, server, name: toolName, approvalRequestId, decision, forcedByHost: true };
    notify(host.hooks, 'onApproval', about);
  };
  const asked = sealer.open(mcpReq.requestState(), bound);
  const answer = mcpReq.inputResponses?.[KEY];
  if (isRecord(asked) && Number(asked.until) > Date.now() && isRecord(answer)) {
    const decision = answer.action === 'accept' ? 'approved' : 'denied';
    report(String(asked.id), decision);
    return decision;
  }
  const id = `mcpr_${randomSeed()}`;
  report(id, 'requested');
  const shown = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)} … (${text.length} characters)` : text;
  const message = `May '${name}' run with these arguments? ${shown}`;
  return sdk.inputRequired({
    inputRequests: {
      [KEY]: sdk.inputRequired.elicit({ message, requestedSchema: { type: 'object', properties: {} } }),
    },
    requestState: sealer.seal({ id, until: Date.now() + QUESTION_MS }, bound),
  });
}
