/** How responses are presented to a client. */
import type { WantedHeartbeat } from './turn-context.ts';

/** How responses are shown; a dialect may have its own defaults. */
export interface Presentation {
  readonly mcpItems: 'mcp_call' | 'function_call';
  readonly reasoning: 'summary' | 'text' | 'spec';
  readonly heartbeat: WantedHeartbeat;
  readonly queuedEvent: boolean;
  /** Whether clients are shown which tools a tool server has. */
  readonly listsTools: boolean;
}
