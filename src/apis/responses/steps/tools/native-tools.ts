/** The tools of a client for a server of the Responses API, which takes them as they are where nobody serves them here. */

import type { NativeTool } from '../../../../protocol/model-request.ts';
import { isRecord, type JsonObject, recordsIn } from '../../../../protocol/record.ts';
import { FOUND } from '../../../../protocol/responses/input-items.ts';
import { requestedType } from '../../../../protocol/tool-calls/kinds.ts';
import { PROGRAMS } from '../../../../protocol/tool-calls/program-call.ts';
import { TOOL_SEARCH } from '../../../../protocol/tool-calls/tool-search-call.ts';
import { readClientTools } from './client-tools.ts';

/** Which types the model's server takes as they are, and which of the request's types the host serves itself. */
export interface NativeTypes {
  readonly takes: (type: string) => boolean;
  readonly served: ReadonlySet<unknown>;
}

/** What such a server receives. */
export interface NativeTools {
  /** The tools that are sent as they are; plain functions are not among them. */
  readonly tools: readonly NativeTool[];
  /** Those among them that the server runs itself. */
  readonly hosted: readonly JsonObject[];
  /** The model's names for functions that the conversation itself offers to the server. */
  readonly found: ReadonlySet<string>;
  /** What the client's choice says of hosted tools. */
  readonly choice: readonly JsonObject[];
  /** Whether the server knows the client's search for tools, and so its deferred tools. */
  readonly searches: boolean;
  /** Whether the server runs the model's programs, which call tools. */
  readonly runsPrograms: boolean;
}

/**
 * The tools of the client, of which nobody here runs the `unknown` ones. A choice that forbids hosted tools leaves them out: not
 * every server obeys it.
 */
export function nativeTools(
  tools: readonly JsonObject[],
  unknown: readonly JsonObject[],
  choice: unknown,
  { takes, served }: NativeTypes,
): NativeTools {
  const isTaken = ({ type }: JsonObject) => typeof type === 'string' && takes(type);
  const runnable = unknown.filter(
    (tool) => isTaken(tool) && tool.namespace === undefined && !served.has(requestedType(tool.type)),
  );
  // The tools that a choice allows; undefined if it allows all.
  const hasList = isRecord(choice) && choice.type === 'allowed_tools';
  const chosen = hasList ? recordsIn(choice.tools) : undefined;
  const isAllowed = (tool: JsonObject) => chosen === undefined || chosen.some((entry) => isSameHostedTool(entry, tool));
  const hosted = choice === 'none' ? [] : runnable.filter(isAllowed);
  const searches = tools.some((tool) => tool.type === TOOL_SEARCH && isTaken(tool) && !served.has(TOOL_SEARCH));
  const runsPrograms = hosted.some(({ type }) => type === PROGRAMS);

  const isSent = (tool: JsonObject): boolean => {
    if (tool.type === 'namespace') return searches;
    if (tool.type !== 'function') return isTaken(tool);
    return (searches && tool.defer_loading === true) || (runsPrograms && Array.isArray(tool.allowed_callers));
  };

  const unknownTools = new Set(unknown);
  const hostedTools = new Set(hosted);
  const sentNames = new Set<string>();
  const found = new Set<string>();
  const sent = tools.flatMap((tool): readonly NativeTool[] => {
    if (unknownTools.has(tool)) return hostedTools.has(tool) ? [{ tool, names: [] }] : [];
    const { known, indirect } = readClientTools([tool]);
    const own = [...known.keys()].filter((name) => !sentNames.has(name));
    // Whether the client's search has found the tool, so that an item of the conversation holds it.
    const isFound = searches && tool[FOUND] === true;
    if (isFound) for (const name of own) found.add(name);
    if (isFound || !isSent(tool) || (own.length === 0 && indirect.length === 0)) return [];
    for (const name of own) sentNames.add(name);
    return [{ tool, names: own }];
  });
  const entries = isRecord(choice) ? (chosen ?? [choice]) : [];
  return {
    tools: sent,
    hosted,
    found,
    choice: entries.filter((entry) => hosted.some((tool) => isSameHostedTool(entry, tool))),
    searches,
    runsPrograms,
  };
}

/** Whether the entry of a choice means this tool, which the model's server runs. */
export function isSameHostedTool({ type, server_label: label }: JsonObject, tool: JsonObject): boolean {
  return requestedType(type) === requestedType(tool.type) && (type !== 'mcp' || label === tool.server_label);
}
