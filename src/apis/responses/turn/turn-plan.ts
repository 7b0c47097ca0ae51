/** The plan of a turn: what the state machine must know of the request. */

import { toolOwners } from '../../../engine/tools/toolset.ts';
import type { Workspaces } from '../../../engine/tools/workspace.ts';
import { unknownNameTest } from '../../../engine/turn/machine/call-permission.ts';
import { citableFiles } from '../../../engine/turn/machine/cited-files.ts';
import { linkableFiles } from '../../../engine/turn/machine/cited-pages.ts';
import type { TurnPlan } from '../../../engine/turn/machine/state.ts';
import type { PreparedRequest } from '../steps/request.ts';
import type { ResponsesApiSettings } from './settings.ts';

/** Requested by clients that keep the history themselves: the only form in which they receive a thought. */
const SEALED_THOUGHTS = 'reasoning.encrypted_content';

/** `workspaces` are where the code and the commands of the turn run. */
export function turnPlan(
  { seed, tools, toolset, approvalRules, body, states, conversation, fingerprints }: PreparedRequest,
  workspaces: Workspaces,
  { reasoning, mcpItems, queuedEvent, limits }: ResponsesApiSettings,
): TurnPlan {
  const { allowed, denied, forms, toolChoice, native } = tools;
  const containers =
    workspaces.size === 0 ? undefined : new Map([...workspaces].map(([type, { container }]) => [type, container]));
  return {
    seed,
    reasoning: reasoning === 'summary' ? 'summary_text' : 'reasoning_text',
    ...(allowed ? { allowedTools: allowed } : {}),
    ...(denied ? { deniedTools: denied } : {}),
    // Where the server runs no tools, and where the model's own server knows more of them, the client has what the model made up.
    ...(toolset.size > 0 && !native ? { isUnknownName: unknownNameTest([...toolset.keys(), ...forms.keys()]) } : {}),
    ...(typeof toolChoice === 'object' ? { forcedTool: toolChoice.name } : {}),
    ...(body.parallel_tool_calls === false ? { singleCall: true } : {}),
    ...(toolChoice === 'required' ? { needsCall: true } : {}),
    owners: toolOwners(toolset, { approvalRules, containers }),
    forms,
    files: citableFiles(conversation),
    ...(workspaces.size === 0 ? {} : { pages: linkableFiles(conversation) }),
    ownedAs: mcpItems,
    queuedEvent: queuedEvent || body.background === true,
    outputBytes: limits.outputBytes,
    argumentBytes: limits.argumentBytes,
    seal: states.seal,
    ...(fingerprints
      ? { fingerprint: ({ callId, input: code }) => fingerprints.seal({ callId, code }, Date.now()) }
      : {}),
    ...(body.include?.includes(SEALED_THOUGHTS) ? { sealThought: states.sealThought } : {}),
  };
}
