/** Whether a request wants several agents, and how many. */

import type { AgentLimits } from '../../../engine/agents/agent-tree.ts';
import type { MultiAgentSettings } from '../../../engine/agents/settings.ts';
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { isPresent, isRecord } from '../../../protocol/record.ts';
import { isRestricting } from '../../../protocol/responses/hosted-terms.ts';

const BETA = 'responses_multi_agent=v1';
/** What is kept; any other field whose name says that it restricts is refused. */
const KEPT: ReadonlySet<string> = new Set(['enabled', 'max_concurrent_subagents']);
/** The most characters of a field's name in an error. */
const MAX_FIELD = 64;
/** Agents that may work at the same time where the request says nothing. */
const USUAL_CONCURRENT = 3;

/** The agents that a request may have; undefined if it wants none, or none are served. Throws `ApiError`. */
export function requestedAgents(
  { body, headers, asSent }: EndpointRequest,
  settings: MultiAgentSettings | undefined,
): AgentLimits | undefined {
  if (!settings || asSent || !isRecord(body) || !isPresent(body.multi_agent) || !speaksMultiAgent(headers)) return;
  const { multi_agent: asked } = body;
  const invalid = (param: string, message: string) => new ApiError('invalid_type', message, { param });
  if (!isRecord(asked)) throw invalid('multi_agent', "Invalid type for 'multi_agent': it must be an object.");
  const { enabled, max_concurrent_subagents: concurrent } = asked;
  if (typeof enabled !== 'boolean')
    throw invalid('multi_agent.enabled', "Invalid type for 'multi_agent.enabled': it must be a boolean.");
  const isNumber = typeof concurrent === 'number' && Number.isInteger(concurrent) && concurrent > 0;
  if (isPresent(concurrent) && !isNumber) {
    const param = 'multi_agent.max_concurrent_subagents';
    throw new ApiError('invalid_value', `Invalid '${param}': it must be a whole number from 1.`, { param });
  }
  if (!enabled) return undefined;
  const unkept = Object.keys(asked).find(
    (field) => !KEPT.has(field) && isPresent(asked[field]) && isRestricting(field),
  );
  if (unkept !== undefined) {
    const param = `multi_agent.${unkept.slice(0, MAX_FIELD)}`;
    throw new ApiError('unsupported_parameter', `Nothing here keeps to '${param}'.`, { param });
  }
  return {
    concurrent: Math.min(isNumber ? concurrent : USUAL_CONCURRENT, settings.maxConcurrent),
    agents: settings.maxAgents,
    depth: settings.maxDepth,
  };
}

/** Whether the client knows the items and messages of several agents. */
export function speaksMultiAgent(headers: Headers): boolean {
  const betas = headers.get('openai-beta') ?? '';
  return betas.split(',').some((beta) => beta.trim() === BETA);
}
