/** The items of a stream as its events tell them, each event held to what went before. */
import { unreachable } from '../../src/protocol/unreachable.ts';
import { broken, law, same } from './law.ts';
import type { WireEvent, WireItem } from './wire-schemas.ts';

type EventOf<Type extends WireEvent['type']> = Extract<WireEvent, { type: Type }>;
type PartAdded = EventOf<'response.content_part.added' | 'response.reasoning_summary_part.added'>;
type PartDone = EventOf<'response.content_part.done' | 'response.reasoning_summary_part.done'>;
type Part = PartAdded['part'];
type Annotated = EventOf<'response.output_text.annotation.added'>;
type TextDelta = EventOf<
  | 'response.output_text.delta'
  | 'response.refusal.delta'
  | 'response.reasoning_summary_text.delta'
  | 'response.reasoning_text.delta'
  | 'response.reasoning.delta'
>;
type TextDone = EventOf<
  | 'response.output_text.done'
  | 'response.refusal.done'
  | 'response.reasoning_summary_text.done'
  | 'response.reasoning_text.done'
  | 'response.reasoning.done'
>;
type ArgumentsDelta = EventOf<
  | 'response.function_call_arguments.delta'
  | 'response.custom_tool_call_input.delta'
  | 'response.mcp_call_arguments.delta'
  | 'response.code_interpreter_call_code.delta'
>;
type ArgumentsDone = EventOf<
  | 'response.function_call_arguments.done'
  | 'response.custom_tool_call_input.done'
  | 'response.mcp_call_arguments.done'
  | 'response.code_interpreter_call_code.done'
>;
type State = EventOf<
  | 'response.mcp_call.in_progress'
  | 'response.mcp_call.completed'
  | 'response.mcp_call.failed'
  | 'response.mcp_list_tools.in_progress'
  | 'response.mcp_list_tools.completed'
  | 'response.mcp_list_tools.failed'
  | 'response.web_search_call.in_progress'
  | 'response.web_search_call.searching'
  | 'response.web_search_call.completed'
  | 'response.image_generation_call.in_progress'
  | 'response.image_generation_call.generating'
  | 'response.image_generation_call.completed'
  | 'response.code_interpreter_call.in_progress'
  | 'response.code_interpreter_call.interpreting'
  | 'response.code_interpreter_call.completed'
>;
type OutputText = Extract<Part, { type: 'output_text' }>;

/** A part, as far as the events have told. */
interface SeenPart {
  readonly type: Part['type'];
  text: string;
  done: boolean;
  readonly annotations: OutputText['annotations'];
  readonly logprobs: OutputText['logprobs'];
}

/** An item, as far as the events have told. */
interface SeenItem {
  readonly added: WireItem;
  readonly parts: Part[];
  part: SeenPart | undefined;
  arguments: string;
  argumentsDone: boolean;
  /** What was told of how the run of a server's own tool, or the listing of its tools, goes. */
  readonly states: string[];
  done: WireItem | undefined;
}

/**
 * The items as they were done, each in its place; undefined for one that never was. Throws, naming the law, where
 * something is used before it is announced, changes its id or its place, or is not the sum of its deltas.
 */
export function replayItems(events: readonly WireEvent[]): readonly (WireItem | undefined)[] {
  const items: SeenItem[] = [];
  for (const event of events) replay(items, event);
  return items.map(({ done }) => done);
}

function replay(items: SeenItem[], event: WireEvent): void {
  switch (event.type) {
    case 'response.output_item.added':
      return addItem(items, event);
    case 'response.output_item.done':
      return endItem(items, event);
    case 'response.content_part.added':
    case 'response.reasoning_summary_part.added':
      return addPart(openItem(items, event), event);
    case 'response.content_part.done':
    case 'response.reasoning_summary_part.done':
      return endPart(openItem(items, event), event);
    case 'response.output_text.delta':
    case 'response.refusal.delta':
    case 'response.reasoning_summary_text.delta':
    case 'response.reasoning_text.delta':
    case 'response.reasoning.delta':
      return addText(items, event);
    case 'response.output_text.done':
    case 'response.refusal.done':
    case 'response.reasoning_summary_text.done':
    case 'response.reasoning_text.done':
    case 'response.reasoning.done':
      return endText(items, event);
    case 'response.output_text.annotation.added':
      return addAnnotation(items, event);
    case 'response.function_call_arguments.delta':
    case 'response.custom_tool_call_input.delta':
    case 'response.mcp_call_arguments.delta':
    case 'response.code_interpreter_call_code.delta':
      return addArguments(openArguments(items, event), event);
    case 'response.function_call_arguments.done':
    case 'response.custom_tool_call_input.done':
    case 'response.mcp_call_arguments.done':
    case 'response.code_interpreter_call_code.done':
      return endArguments(openArguments(items, event), event);
    case 'response.mcp_call.in_progress':
    case 'response.mcp_call.completed':
    case 'response.mcp_call.failed':
    case 'response.mcp_list_tools.in_progress':
    case 'response.mcp_list_tools.completed':
    case 'response.mcp_list_tools.failed':
    case 'response.web_search_call.in_progress':
    case 'response.web_search_call.searching':
    case 'response.web_search_call.completed':
    case 'response.image_generation_call.in_progress':
    case 'response.image_generation_call.generating':
    case 'response.image_generation_call.completed':
    case 'response.code_interpreter_call.in_progress':
    case 'response.code_interpreter_call.interpreting':
    case 'response.code_interpreter_call.completed':
      return addState(openItem(items, event), event);
    case 'response.created':
    case 'response.queued':
    case 'response.in_progress':
    case 'response.completed':
    case 'response.incomplete':
    case 'response.failed':
    case 'error':
    case 'keepalive':
    case 'ping':
      return;
    default:
      unreachable(event);
  }
}

function addItem(items: SeenItem[], event: EventOf<'response.output_item.added'>): void {
  const { item, output_index } = event;
  law(output_index === items.length, `a new item takes the next place (expected ${items.length})`, event);
  same(item, emptied(item), 'an item is added in progress and empty');
  law(!items.some(({ added }) => added.id === item.id), 'an item id is new', event);
  expectCallId(items, item);
  const blank = { parts: [], part: undefined, arguments: '', argumentsDone: false, states: [], done: undefined };
  items.push({ added: item, ...blank });
}

function emptied(item: WireItem): WireItem {
  const status = 'in_progress';
  if (item.type === 'message') return { ...item, status, content: [] };
  if (item.type === 'function_call') return { ...item, status, arguments: '' };
  if (item.type === 'custom_tool_call') return { ...item, status, input: '' };
  if (item.type === 'function_call_output') return { ...item, status, output: '' };
  if (item.type === 'mcp_call') return { ...item, status, arguments: '', output: null, error: null };
  if (item.type === 'code_interpreter_call') return { ...item, status, code: '', outputs: null };
  if (item.type === 'mcp_list_tools') return { ...item, tools: [] };
  if (item.type === 'compaction' || item.type === 'mcp_approval_request') return item;
  if (item.type === 'web_search_call') return withoutFindings({ ...item, status });
  if (item.type === 'image_generation_call') return { ...item, status, result: null };
  return { ...item, status, summary: [], ...(item.content ? { content: [] } : {}) };
}

/** What a search found, and what leads back to it, is told at its end. */
function withoutFindings({ encrypted_content: _, ...item }: Extract<WireItem, { type: 'web_search_call' }>): WireItem {
  if (item.action.type !== 'search') return item;
  const { sources, ...action } = item.action;
  return { ...item, action };
}

function expectCallId(items: readonly SeenItem[], item: WireItem): void {
  if (!('call_id' in item)) return;
  const before = items.filter(({ added }) => 'call_id' in added && added.call_id === item.call_id);
  const types = before.map(({ added }) => added.type).join();
  if (item.type !== 'function_call_output') return law(types === '', 'a call_id is new', item);
  law(types === 'function_call', 'an output follows its call, and no other output', item);
}

function openItem(items: readonly SeenItem[], event: { item_id: string; output_index: number }): SeenItem {
  const item = items[event.output_index] ?? broken('an item is added before it is used', event);
  law(event.item_id === item.added.id, `an item keeps its id (added as ${item.added.id})`, event);
  law(!item.done, 'nothing is said of an item that is done', event);
  return item;
}

function addPart(item: SeenItem, event: PartAdded): void {
  const { part } = event;
  law(partTypesOf(item.added).includes(part.type), `a part fits its item (${item.added.type})`, event);
  law(!item.part, 'a part is done before the next one is added', event);
  law(partIndexOf(event) === item.parts.length, `a new part takes the next index (${item.parts.length})`, event);
  item.part = { type: part.type, text: '', done: false, annotations: [], logprobs: [] };
  same(part, wholePart(item.part), 'a part is added empty');
}

function partTypesOf(item: WireItem): readonly Part['type'][] {
  if (item.type === 'message') return ['output_text', 'refusal'];
  if (item.type !== 'reasoning') return [];
  return item.content ? ['reasoning_text'] : ['summary_text'];
}

function partIndexOf(event: PartAdded | PartDone | TextDelta | TextDone | Annotated): number {
  return 'summary_index' in event ? event.summary_index : event.content_index;
}

function openPart(items: readonly SeenItem[], event: TextDelta | TextDone | Annotated): SeenPart {
  const item = openItem(items, event);
  const part = item.part ?? broken('a part is added before it is used', event);
  law(partIndexOf(event) === item.parts.length, `a part keeps its index (added as ${item.parts.length})`, event);
  law(part.type === PART_OF[event.type], `a part keeps its type (added as ${part.type})`, event);
  law(!part.done, 'nothing is added to a text that is done', event);
  return part;
}

const PART_OF: Readonly<Record<(TextDelta | TextDone | Annotated)['type'], Part['type']>> = {
  'response.output_text.delta': 'output_text',
  'response.output_text.done': 'output_text',
  'response.output_text.annotation.added': 'output_text',
  'response.refusal.delta': 'refusal',
  'response.refusal.done': 'refusal',
  'response.reasoning_summary_text.delta': 'summary_text',
  'response.reasoning_summary_text.done': 'summary_text',
  'response.reasoning_text.delta': 'reasoning_text',
  'response.reasoning_text.done': 'reasoning_text',
  'response.reasoning.delta': 'reasoning_text',
  'response.reasoning.done': 'reasoning_text',
};

function addText(items: readonly SeenItem[], event: TextDelta): void {
  const part = openPart(items, event);
  const logprobs = 'logprobs' in event ? event.logprobs : [];
  law(event.delta !== '' || logprobs.length > 0, 'a delta says something', event);
  part.text += event.delta;
  part.logprobs.push(...logprobs);
}

function addAnnotation(items: readonly SeenItem[], event: Annotated): void {
  const { annotations } = openPart(items, event);
  law(event.annotation_index === annotations.length, 'annotations are numbered in order', event);
  annotations.push(event.annotation);
}

function endText(items: readonly SeenItem[], event: TextDone): void {
  const part = openPart(items, event);
  same('refusal' in event ? event.refusal : event.text, part.text, 'a text that is done is the sum of its deltas');
  if ('logprobs' in event) same(event.logprobs, part.logprobs, 'so are its log probabilities');
  part.done = true;
}

function endPart(item: SeenItem, event: PartDone): void {
  const part = item.part ?? broken('a part is added before it is done', event);
  law(partIndexOf(event) === item.parts.length, `a part keeps its index (added as ${item.parts.length})`, event);
  law(part.done, 'a text is done before its part', event);
  same(event.part, wholePart(part), 'a part that is done is the sum of its deltas');
  item.parts.push(event.part);
  item.part = undefined;
}

function wholePart({ type, text, annotations, logprobs }: SeenPart): Part {
  if (type === 'refusal') return { type, refusal: text };
  if (type === 'output_text') return { type, text, annotations: [...annotations], logprobs: [...logprobs] };
  return { type, text };
}

function openArguments(items: readonly SeenItem[], event: ArgumentsDelta | ArgumentsDone): SeenItem {
  const item = openItem(items, event);
  law(
    event.type.startsWith(`response.${item.added.type}_${writtenIn(item.added)}.`),
    'only a call has arguments',
    event,
  );
  law(!item.argumentsDone, 'nothing is added to arguments that are done', event);
  return item;
}

/** The field of a call that its model wrote. */
function writtenIn({ type }: WireItem): 'input' | 'code' | 'arguments' {
  if (type === 'custom_tool_call') return 'input';
  return type === 'code_interpreter_call' ? 'code' : 'arguments';
}

function addArguments(item: SeenItem, event: ArgumentsDelta): void {
  law(event.delta !== '', 'a delta says something', event);
  item.arguments += event.delta;
}

function endArguments(item: SeenItem, event: ArgumentsDone): void {
  const whole = 'input' in event ? event.input : 'code' in event ? event.code : event.arguments;
  same(whole, item.arguments, 'arguments that are done are the sum of their deltas');
  if ('name' in event) same(event.name, 'name' in item.added && item.added.name, 'done arguments name their function');
  item.argumentsDone = true;
}

function addState(item: SeenItem, event: State): void {
  const state = event.type.slice(`response.${item.added.type}.`.length);
  law(event.type === `response.${item.added.type}.${state}`, `a state fits its item (${item.added.type})`, event);
  const isWhole = item.argumentsDone || !(writtenIn(item.added) in item.added);
  law(state === 'in_progress' || isWhole, 'a call runs when whole', event);
  item.states.push(state);
}

function endItem(
  items: readonly SeenItem[],
  { item: whole, output_index }: EventOf<'response.output_item.done'>,
): void {
  const item = openItem(items, { item_id: whole.id, output_index });
  law(!item.part, 'a part is done before its item', whole);
  const isTold = item.added.type !== 'mcp_approval_request' && writtenIn(item.added) in item.added;
  law(item.argumentsDone || !isTold, 'arguments are done before their call', whole);
  law(!('status' in whole) || whole.status !== 'in_progress', 'an item that is done is no longer in progress', whole);
  same(item.states, statesOf(whole, item.states), 'a run and a listing are told from beginning to end');
  same(whole, rebuilt(item, whole), 'an item that is done is the sum of what was said of it');
  item.done = whole;
}

function statesOf(item: WireItem, seen: readonly string[]): readonly string[] {
  if (item.type === 'mcp_list_tools') return ['in_progress', 'completed'];
  if (item.type === 'web_search_call')
    return ['in_progress', 'searching', ...(item.status === 'completed' ? ['completed'] : [])];
  if (item.type === 'image_generation_call') return ['in_progress', 'generating', 'completed'];
  if (item.type === 'code_interpreter_call') return codeStates(item.status, seen);
  if (item.type !== 'mcp_call') return [];
  return item.status === 'incomplete' ? ['in_progress'] : ['in_progress', item.status];
}

/** Where the turn fails, code may have begun to run or not. */
function codeStates(status: string, seen: readonly string[]): readonly string[] {
  if (status === 'completed') return ['in_progress', 'interpreting', 'completed'];
  return status === 'failed' || seen.length > 1 ? ['in_progress', 'interpreting'] : ['in_progress'];
}

/** The item from what was told of it; what only its end can tell is taken from there. */
function rebuilt({ added, parts, arguments: text }: SeenItem, done: WireItem): unknown {
  const status = 'status' in done ? { status: done.status } : {};
  if (added.type === 'message') return { ...added, ...status, content: parts };
  if (added.type === 'function_call') return { ...added, ...status, arguments: text };
  if (added.type === 'custom_tool_call') return { ...added, ...status, input: text };
  if (added.type === 'function_call_output') return { ...added, ...status, output: 'output' in done && done.output };
  if (added.type === 'mcp_list_tools') return { ...added, tools: 'tools' in done && done.tools };
  if (added.type === 'mcp_call') return { ...added, ...status, arguments: text, ...resultOf(done) };
  if (added.type === 'code_interpreter_call')
    return { ...added, ...status, code: text, outputs: 'outputs' in done && done.outputs };
  if (added.type === 'compaction' || added.type === 'mcp_approval_request') return added;
  if (added.type === 'image_generation_call') return { ...added, ...status, result: 'result' in done && done.result };
  if (added.type === 'web_search_call' && done.type === added.type) {
    same(withoutFindings({ ...done, status: 'in_progress' }), added, 'a search that is done is the one that was added');
    return done;
  }
  if (added.type === 'web_search_call') return added;
  const sealed = 'encrypted_content' in done ? { encrypted_content: done.encrypted_content } : {};
  const parted = added.content ? { content: parts } : { summary: parts };
  return { ...added, ...status, ...parted, ...sealed };
}

/** A call has its output where it succeeded, its error where it failed, and neither where it never ended. */
function resultOf(item: WireItem): object {
  if (item.type !== 'mcp_call') return {};
  const { status, output, error } = item;
  law((status === 'completed') === (output !== null), 'a run that succeeded has an output', item);
  law((status === 'failed') === (error !== null), 'a run that failed has an error', item);
  return { output, error };
}
