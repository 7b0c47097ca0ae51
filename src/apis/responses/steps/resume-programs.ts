/** Finds the programs of an agent that go on in its turn. */
import { fingerprints } from '../../../engine/programs/fingerprint.ts';
import { openPrograms } from '../../../engine/programs/open-programs.ts';
import { toolNameReader } from '../../../engine/tools/toolset.ts';
import type { Sealer } from '../../../ports/sealer.ts';
import type { Item } from '../../../protocol/items.ts';
import { ownItems, ROOT_AGENT } from '../../../protocol/tool-calls/conversation/agent-items.ts';
import type { RequestWithApprovals, RequestWithPrograms } from './request.ts';

/**
 * Those of the agent, in the conversation and in what this response has `made` of it so far. Throws `tool_output_missing` and
 * `invalid_encrypted_content` for a program that cannot go on.
 */
export function resumePrograms(
  request: RequestWithApprovals,
  { stateSealer }: { readonly stateSealer: Sealer },
  { agent, made }: { readonly agent: string; readonly made: readonly Item[] } = FIRST,
): RequestWithPrograms {
  const { tools, apiRequest, window, answers, toolset } = request;
  if (!tools.programs) return request;
  const sealed = fingerprints(stateSealer, apiRequest.scope);
  const programs = openPrograms({
    items: ownItems(made.length === 0 ? window.items : [...window.items, ...made], agent),
    approved: new Set(answers.approved.map(({ approvalRequestId }) => approvalRequestId)),
    nameOf: toolNameReader(toolset, tools.forms),
    fingerprints: sealed,
  });
  return Object.assign({}, request, { programs, fingerprints: sealed });
}

const FIRST = { agent: ROOT_AGENT, made: [] };
