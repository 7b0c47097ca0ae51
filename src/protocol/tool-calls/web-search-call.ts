/** A web search by the model's own server: shown, not run. */
import type { ToolCallKind } from './kind.ts';

/** `web_search_call` */
export const webSearchCall: ToolCallKind & { readonly type: 'web_search_call' } = {
  type: 'web_search_call',
  idPrefix: 'ws',
  runBy: 'upstream',
};
