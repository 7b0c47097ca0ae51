/** What clients are shown of a response, where they may be shown it in more than one way. */

import { boolean, checkOptions, isOneOf } from '../../ports/host/options-check.ts';

/** What clients are shown; what is omitted is as the clients' dialect has it. */
export interface ShowOptions {
  /**
   * How the Responses API shows calls of server-run tools: `function_call` is what strict Open Responses clients know.
   * Default: `mcp_call`.
   */
  readonly toolCalls?: 'mcp_call' | 'function_call' | undefined;
  /** Whether clients of the Messages API see calls of server-run tools that they did not name themselves. Default: false. */
  readonly toolCallsInMessages?: boolean | undefined;
  /**
   * Where reasoning is shown: `summary` suits every client, `text` is OpenAI's raw form, `spec` that of Open Responses.
   * Default: `summary`.
   */
  readonly reasoning?: 'summary' | 'text' | 'spec' | undefined;
  /** Whether `response.queued` is sent at the beginning of every stream. Default: false. */
  readonly queued?: boolean | undefined;
}

/** The same options; throws a `TypeError` that names the invalid one. */
export function checkedShow(owner: string, show: ShowOptions = {}): ShowOptions {
  checkOptions(owner, show, {
    toolCalls: isOneOf('mcp_call', 'function_call'),
    toolCallsInMessages: boolean,
    reasoning: isOneOf('summary', 'text', 'spec'),
    queued: boolean,
  });
  return show;
}
