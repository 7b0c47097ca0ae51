/** The server-run tools of one request, and the provider of each. */

import type { ListedTool, ToolCallResult, ToolCallType } from '../protocol/items.ts';
import type { JsonObject } from '../protocol/record.ts';
import type { MaybePromise } from './store.ts';
import type { ProvidedTool, ToolProvider } from './tool-provider.ts';

/** A tool with the provider that runs it. */
export interface ToolsetEntry {
  readonly provider: ToolProvider;
  readonly tool: ProvidedTool;
  /** Set for a server that the request names: the URL that it names. */
  readonly url?: string;
  /** The client's own definition of a tool that it brought, which no provider runs. */
  readonly own?: JsonObject;
  /** Whether the request wants each call approved. */
  readonly needsApproval?: true;
  /** Set if the request lets the model's programs call the tool, beside the model itself or alone. */
  readonly programs?: 'also' | 'only';
  /** Set for the search for deferred tools, which no provider runs: answers it with at most this many bytes of tools. */
  readonly search?: (query: JsonObject, maxBytes: number) => ToolCallResult;
  /** Set for a tool of the engine's own, which no provider runs: runs it until it ends or the signal is aborted, without a time limit. */
  readonly inside?: (args: JsonObject, signal: AbortSignal) => MaybePromise<ToolCallResult>;
}

/** The server-run tools, by the model's name for them. */
export type Toolset = ReadonlyMap<string, ToolsetEntry>;

/** A request without server-run tools. */
export const NO_TOOLS: Toolset = new Map<string, never>();

/** The owner of a tool: the server's own group of tools, and the tool's name there. */
export interface ToolOwner {
  readonly server: string;
  readonly name: string;
  /** The item type that shows its calls, if it has its own. */
  readonly shownAs?: ToolCallType;
  /** The container in which it runs code. */
  readonly container?: string;
  /** Whether its calls wait for the user's approval. */
  readonly needsApproval?: true;
}

/** The tool under the model's name for it; undefined if it is not offered. */
export function findTool(toolset: Toolset, server: string, name: string): readonly [string, ToolsetEntry] | undefined {
  return [...toolset].find(([, { tool }]) => tool.server === server && tool.name === name);
}

/** Which tools need approval, by the model's names for them; the other tools run at once. */
export type ApprovalRules = ReadonlyMap<string, 'host' | 'request'>;

/** Its name, description and schema; absent fields are omitted. */
export function listedTool({ name, description, parameters, annotations }: ProvidedTool): ListedTool {
  return {
    name,
    ...(description ? { description } : {}),
    input_schema: parameters ?? { type: 'object', properties: {} },
    ...(annotations ? { annotations } : {}),
  };
}
