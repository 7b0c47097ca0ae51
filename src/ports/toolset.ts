/** The server's own tools of one request, and who runs each. */
import type { ToolCallType } from '../protocol/items.ts';
import type { ProvidedTool, ToolProvider } from './tool-provider.ts';

/** A tool with the provider that runs it. */
export interface ToolsetEntry {
  readonly provider: ToolProvider;
  readonly tool: ProvidedTool;
  /** Of a server that the request names: the URL that it names. */
  readonly url?: string;
  /** Whether the request wants each call approved. */
  readonly needsApproval?: true;
}

/** The server's own tools, by the name that the model knows. */
export type Toolset = ReadonlyMap<string, ToolsetEntry>;

/** Who runs a tool: the server's own group of tools, and the tool's name there. */
export interface ToolOwner {
  readonly server: string;
  readonly name: string;
  /** The kind of call that it is shown as, where that is its own. */
  readonly shownAs?: ToolCallType;
  /** The container in which it runs code. */
  readonly container?: string;
  /** Whether its calls wait for the user's approval. */
  readonly needsApproval?: true;
}

/** The tool under the model's name for it; undefined where it is not on offer. */
export function findTool(toolset: Toolset, server: string, name: string): readonly [string, ToolsetEntry] | undefined {
  return [...toolset].find(([, { tool }]) => tool.server === server && tool.name === name);
}

/** Who wants the approval, by the names that the model knows; the other tools run at once. */
export type ApprovalRules = ReadonlyMap<string, 'host' | 'request'>;
