/** How responses are presented to a client. */
import type { WantedHeartbeat } from './turn-context.ts';

/** How responses are shown, which a dialect may have ideas of its own about. */
export interface Presentation {
  readonly mcpItems: 'mcp_call' | 'function_call';
  readonly reasoning: 'summary' | 'text' | 'spec';
  readonly heartbeat: WantedHeartbeat;
  readonly queuedEvent: boolean;
  /** Whether clients are told which tools a server of tools has. */
  readonly listsTools: boolean;
}
