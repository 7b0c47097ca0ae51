/** Finds the programs of the conversation that go on in this turn. */
import { fingerprints } from '../../../engine/programs/fingerprint.ts';
import { openPrograms } from '../../../engine/programs/open-programs.ts';
import { toolNameReader } from '../../../engine/tools/toolset.ts';
import type { Sealer } from '../../../ports/sealer.ts';
import type { RequestWithApprovals, RequestWithPrograms } from './request.ts';

/** Throws `tool_output_missing` and `invalid_encrypted_content` for a program that cannot go on. */
export function resumePrograms(
  request: RequestWithApprovals,
  { stateSealer }: { readonly stateSealer: Sealer },
): RequestWithPrograms {
  const { tools, apiRequest, window, history, answers, toolset } = request;
  if (!tools.programs) return request;
  const sealed = fingerprints(stateSealer, apiRequest.scope);
  const programs = openPrograms({
    items: window.items,
    loaded: history.loaded,
    approved: new Set(answers.approved.map(({ approvalRequestId }) => approvalRequestId)),
    nameOf: toolNameReader(toolset, tools.forms),
    fingerprints: sealed,
  });
  return Object.assign({}, request, { programs, fingerprints: sealed });
}
