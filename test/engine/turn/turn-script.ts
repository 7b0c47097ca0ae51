/** The inputs of a turn in short form, and its events as lines. */

import type { TurnPlan } from '../../../src/engine/turn/machine/state.ts';
import type { ErrorBody } from '../../../src/protocol/errors.ts';
import type {
  FinishReason,
  IncompleteReason,
  ModelEvent,
  TurnEvent,
  TurnInput,
  Usage,
} from '../../../src/protocol/events.ts';
import type { ListedTool, ToolOutput, UrlCitation } from '../../../src/protocol/items.ts';
import { unreachable } from '../../../src/protocol/record.ts';
import { wholeTurn } from './whole-turn.ts';

/** `look_up` and `mcp__mail__send` are run by the server, under other names; all else by the client. */
export const OWNED: Partial<TurnPlan> = {
  owners: new Map([
    ['look_up', { server: 'files', name: 'look.up' }],
    ['mcp__mail__send', { server: 'mail', name: 'send' }],
  ]),
};
export const OWNED_AS_FUNCTION_CALL: Partial<TurnPlan> = { ...OWNED, ownedAs: 'function_call' };

export const KEEPALIVE: TurnInput = { type: 'keepalive' };
export const ERROR: ErrorBody = { message: 'It broke.', type: 'server_error', param: null, code: 'upstream_error' };
export const FAIL: TurnInput = { type: 'fail', error: ERROR };
export const CITATION: UrlCitation = {
  type: 'url_citation',
  url: 'https://a.b',
  title: 'A',
  start_index: 0,
  end_index: 2,
};

export const text = (text: string): ModelEvent => ({ type: 'text-delta', text });
export const refusal = (text: string): ModelEvent => ({ type: 'refusal-delta', text });
export const reasoning = (text: string): ModelEvent => ({ type: 'reasoning-delta', text });
export const call = (call: number, args: string, more: { id?: string; name?: string } = {}): ModelEvent => ({
  type: 'tool-call-delta',
  call,
  arguments: args,
  ...more,
});
export const cite = (annotation: UrlCitation): ModelEvent => ({ type: 'annotation', annotation });
export const search = (search: string, query: string): ModelEvent => ({
  type: 'search-start',
  search,
  action: { type: 'search', query, queries: [query] },
});
export const found = (search: string, failed = false): ModelEvent => ({
  type: 'search-end',
  search,
  failed,
  sources: [{ type: 'url', url: 'https://a.b' }],
  state: 'sealed',
});
export const used = (usage: Usage): ModelEvent => ({ type: 'usage', usage });
export const finish = (reason: FinishReason = 'stop'): ModelEvent => ({ type: 'finish', reason });
export const result = (index: number, output: ToolOutput = 'Found.', failed = false): TurnInput => ({
  type: 'tool-result',
  index,
  output,
  failed,
});
export const LISTED: ListedTool = { name: 'look.up', input_schema: { type: 'object' } };
export const listed = (server: string, ...tools: readonly ListedTool[]): TurnInput => ({
  type: 'tools-listed',
  server,
  tools,
});
export const stop = (reason: IncompleteReason): TurnInput => ({ type: 'stop', reason });

/** Usage of which every field has a value of its own. */
export function usage(input: number, cached: number, output: number, reasoning: number, total: number): Usage {
  return {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached, cache_write_tokens: 0 },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: reasoning },
    total_tokens: total,
  };
}

/** Everything between the opening of a turn and its end, one short line for each event. */
export function eventLines(model: readonly TurnInput[], plan: Partial<TurnPlan> = {}): readonly string[] {
  return wholeTurn(model, plan).slice(2).map(line);
}

/** An event as `type place what`; the place is the item's index, and `.` the part's. Ids and repeats are left to the laws. */
export function line(event: TurnEvent): string {
  switch (event.type) {
    case 'item-start':
      return `item-start ${event.index} ${event.item.type}`;
    case 'part-start':
      return `part-start ${event.index}.${event.partIndex} ${event.part.type}`;
    case 'part-delta':
    case 'text-end':
      return `${event.type} ${event.index}.${event.partIndex} ${JSON.stringify(event.text)}`;
    case 'annotation':
      return `annotation ${event.index}.${event.partIndex} ${event.annotationIndex}`;
    case 'part-end':
      return `part-end ${event.index}.${event.partIndex}`;
    case 'arguments-delta':
      return `arguments-delta ${event.index} ${event.text}`;
    case 'arguments-end':
      return `arguments-end ${event.index} ${event.name} ${event.arguments}`;
    case 'item-end':
      return event.item.type === 'mcp_list_tools'
        ? `item-end ${event.index} ${event.item.tools.map(({ name }) => name)}`
        : `item-end ${event.index} ${'status' in event.item ? event.item.status : event.item.type}`;
    case 'list-progress':
    case 'list-end':
      return `${event.type} ${event.index}`;
    case 'native-progress':
      return `${event.event.type} ${event.index}`;
    case 'partial-image':
      return `partial-image ${event.index} ${event.image.number}`;
    case 'call-state':
      return `${event.kind} ${event.index} ${event.state}`;
    case 'call-dropped':
      return `call-dropped ${event.name}`;
    case 'error':
      return `error ${event.error.code}`;
    case 'turn-end':
      return `turn-end ${event.reason ?? event.status}`;
    case 'turn-start':
    case 'turn-queued':
    case 'turn-progress':
    case 'raw':
    case 'heartbeat':
    case 'keepalive':
    case 'input-injected':
      return event.type;
    default:
      return unreachable(event);
  }
}

export interface Row {
  readonly name: string;
  readonly plan?: Partial<TurnPlan>;
  readonly model: readonly TurnInput[];
  readonly events: readonly string[];
}
