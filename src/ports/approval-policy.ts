/** The host's policy on which tools need the user's approval. */
import type { ProvidedTool, ToolCall } from './tool-provider.ts';

/** The basis of the host's decision: the tool, as its provider lists it, and the request's tenant. */
export interface ApprovalQuestion<Req = unknown>
  extends Pick<ProvidedTool, 'server' | 'name' | 'annotations'>,
    Pick<ToolCall<Req>, 'scope' | 'request'> {
  /**
   * The URL of a server that the request names, whose label the client chooses; undefined for the host's own servers.
   */
  readonly url?: string;
}

/** Whether each call of the tool needs the user's approval. */
export type ApprovalPolicy<Req = unknown> = (tool: ApprovalQuestion<Req>) => boolean;
