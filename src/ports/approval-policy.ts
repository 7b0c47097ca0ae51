/** The host's say in which tools wait for the user's approval. */
import type { ProvidedTool, ToolCall } from './tool-provider.ts';

/** What a host decides by: the tool, as its provider lists it, and whose request it is. */
export interface ApprovalQuestion
  extends Pick<ProvidedTool, 'server' | 'name' | 'annotations'>,
    Pick<ToolCall, 'scope' | 'request'> {
  /** The URL of a server that the request names, whose label is the client's to choose; undefined for the host's own. */
  readonly url?: string;
}

/** Whether each call of the tool waits for the user's approval. */
export type ApprovalPolicy = (tool: ApprovalQuestion) => boolean;
