/** The laws of the items of a turn: each event is replayed, and compared with everything before it. */
import type { TurnEvent } from '../../src/protocol/events.ts';
import type {
  Annotation,
  CodeInterpreterCallItem,
  ImageGenerationCallItem,
  McpCallItem,
  OutputItem,
  Part,
  PartType,
  ReasoningItem,
  WebSearchCallItem,
} from '../../src/protocol/items.ts';
import { logProbsIn } from '../../src/protocol/json/log-probs.ts';
import { unreachable } from '../../src/protocol/record.ts';
import { broken, law, same } from './law.ts';
import { isNativeId } from './native-items.ts';

type EventOf<Type extends TurnEvent['type']> = Extract<TurnEvent, { type: Type }>;

/** A part, as far as events have reported it. */
interface SeenPart {
  readonly type: PartType;
  text: string;
  textEnded: boolean;
  readonly annotations: Annotation[];
  /** The JSON of each. */
  readonly logprobs: string[];
}

/** An item, as far as events have reported it. */
interface SeenItem {
  readonly start: OutputItem;
  readonly parts: Part[];
  part: SeenPart | undefined;
  arguments: string;
  argumentsEnded: boolean;
  /** The states of a run on the server, or of a listing of its tools, in order. */
  readonly run: string[];
  /** How many unfinished pictures there were so far. */
  partials: number;
  end: OutputItem | undefined;
}

/**
 * The items in order, as they ended. Throws, naming the law, where an item or a part is used before it is announced,
 * changes its id or place, is not the sum of its deltas, or does not end.
 */
export function replayItems(events: readonly TurnEvent[]): readonly (OutputItem | undefined)[] {
  const items: SeenItem[] = [];
  for (const event of events) replay(items, event);
  for (const item of items) law(item.end, 'every item that starts ends', item.start);
  return items.map(({ end }) => end);
}

function replay(items: SeenItem[], event: TurnEvent): void {
  switch (event.type) {
    case 'item-start':
      return startItem(items, event);
    case 'part-start':
      return startPart(openItem(items, event), event);
    case 'part-delta':
      return addText(openText(items, event), event);
    case 'annotation':
      return addAnnotation(openText(items, event), event);
    case 'text-end':
      return endText(openText(items, event), event);
    case 'part-end':
      return endPart(openItem(items, event), event);
    case 'arguments-delta':
      openArguments(items, event).arguments += event.text;
      return;
    case 'arguments-end':
      return endArguments(openArguments(items, event), event);
    case 'list-progress':
    case 'list-end':
      return addListState(openItem(items, event), event);
    case 'call-state':
      return addCallState(openItem(items, event), event);
    case 'partial-image':
      return addPartialImage(openItem(items, event), event);
    case 'item-end':
      return endItem(items, event);
    case 'native-progress':
      openItem(items, event);
      return;
    case 'turn-start':
    case 'turn-queued':
    case 'turn-progress':
    case 'call-dropped':
    case 'input-injected':
    case 'raw':
    case 'heartbeat':
    case 'keepalive':
    case 'error':
    case 'turn-end':
      return;
    default:
      unreachable(event);
  }
}

function startItem(items: SeenItem[], event: EventOf<'item-start'>): void {
  const { item, index } = event;
  law(index === items.length, `a new item takes the next index (expected ${items.length})`, event);
  if (!isNativeId(item.id)) same(item, emptied(item), 'an item starts in progress and empty');
  law(item.id !== '' && !items.some(({ start }) => start.id === item.id), 'an item id is new', event);
  if (hasCallId(item) && !isNativeId(item.id)) expectCallId(items, item, event);
  items.push({
    start: item,
    parts: [],
    part: undefined,
    arguments: '',
    argumentsEnded: false,
    run: [],
    partials: 0,
    end: undefined,
  });
}

function emptied(item: OutputItem): OutputItem {
  const status = 'in_progress';
  switch (item.type) {
    case 'message':
      return { ...item, status, content: [] };
    case 'reasoning':
      law(item.encrypted_content === undefined, 'what leads back to a thought is reported at its end', item);
      return item.content ? { ...item, status, summary: [], content: [] } : { ...item, status, summary: [] };
    case 'function_call':
      return { ...item, status, arguments: '' };
    case 'custom_tool_call':
      return { ...item, status, input: '' };
    case 'function_call_output':
      return { ...item, status, output: '' };
    case 'mcp_call':
      return { ...item, status, arguments: '', output: null, error: null };
    case 'code_interpreter_call':
      law(item.container_id !== '', 'code runs in a container that is known from the start', item);
      return { ...item, status, code: '', outputs: null };
    case 'mcp_list_tools':
      return { ...item, status, tools: [] };
    case 'tool_search_call':
      return { ...item, status, arguments: {} };
    case 'tool_search_output':
      return { ...item, status, tools: [] };
    case 'shell_call':
      return { ...item, status, action: { commands: [], timeout_ms: null, max_output_length: null } };
    case 'local_shell_call':
      return { ...item, status, action: { ...NO_ACTION } };
    case 'apply_patch_call':
      return { ...item, status, operation: { type: 'update_file', path: '', diff: '' } };
    case 'web_search_call':
      law(item.encrypted_content === undefined, 'what leads back to a search is reported at its end', item);
      law(!('sources' in item.action), 'what a search found is reported at its end', item);
      return { ...item, status };
    case 'image_generation_call':
      return { ...item, status, result: null };
    case 'file_search_call':
      return { ...item, status, queries: [], results: null };
    case 'shell_call_output':
      return { ...item, status, output: [] };
    case 'program':
      return { ...item, code: '', fingerprint: '' };
    case 'program_output':
      return { ...item, result: '', status: 'incomplete' };
    case 'multi_agent_call':
      return { ...item, arguments: '' };
    case 'multi_agent_call_output':
      return { ...item, output: [] };
    case 'agent_message':
    case 'mcp_approval_request':
    case 'compaction':
      return item;
    default:
      return unreachable(item);
  }
}

const NO_ACTION = {
  type: 'exec',
  command: [],
  env: {},
} as const;

type WithCallId = Extract<OutputItem, { call_id: string }>;

function hasCallId(item: OutputItem): item is WithCallId {
  return 'call_id' in item && item.call_id !== null;
}

/** A call has an id of its own; an output has that of a call that has ended and has no other output. */
function expectCallId(items: readonly SeenItem[], item: WithCallId, event: TurnEvent): void {
  law(item.call_id !== '', 'a call_id is not empty', event);
  const [call, ...others] = items.filter(({ start }) => 'call_id' in start && start.call_id === item.call_id);
  if (item.type === 'program_output')
    law(call?.start.type === 'program' && call.end, 'what a program gave follows a whole program', event);
  else if (item.type === 'function_call_output') {
    law(call?.start.type === 'function_call', 'an output follows a function call', event);
    law(call?.end && statusOf(call.end) === 'completed', 'an output follows a call that is complete', event);
  } else return law(!call, 'a call_id is new', event);
  law(others.length === 0, 'a call has one output', event);
}

function openItem(items: readonly SeenItem[], event: TurnEvent & { index: number; itemId: string }): SeenItem {
  const item = items[event.index];
  if (!item) return broken('an item is announced before it is used', event);
  law(event.itemId === item.start.id, `an item keeps its id (announced as ${item.start.id})`, event);
  law(!item.end, 'no event of an item follows its end', event);
  return item;
}

function startPart(item: SeenItem, event: EventOf<'part-start'>): void {
  const { part, partIndex } = event;
  law(partTypesOf(item.start).includes(part.type), `a part fits its item (${item.start.type})`, event);
  law(!item.part, 'a part ends before the next one starts', event);
  law(partIndex === item.parts.length, `a new part takes the next index (expected ${item.parts.length})`, event);
  item.part = { type: part.type, text: '', textEnded: false, annotations: [], logprobs: [] };
  same(part, wholePart(item.part), 'a part starts empty');
}

function partTypesOf(item: OutputItem): readonly PartType[] {
  if (item.type === 'message') return ['output_text', 'refusal'];
  if (item.type === 'reasoning') return item.content ? ['reasoning_text'] : ['summary_text'];
  return [];
}

type InText = EventOf<'part-delta' | 'annotation' | 'text-end'>;

function openText(items: readonly SeenItem[], event: InText): SeenPart {
  const part = openPart(openItem(items, event), event);
  law(!part.textEnded, 'nothing is added to a text after its end', event);
  const type = event.type === 'annotation' ? 'output_text' : event.part;
  law(type === part.type, `a part keeps its type (started as ${part.type})`, event);
  return part;
}

function openPart(item: SeenItem, event: TurnEvent & { partIndex: number }): SeenPart {
  if (!item.part) return broken('a part is announced before it is used', event);
  law(event.partIndex === item.parts.length, `a part keeps its index (started as ${item.parts.length})`, event);
  return item.part;
}

function addText(part: SeenPart, event: EventOf<'part-delta'>): void {
  law(event.text !== '' || event.logprobs !== '', 'a delta is not empty', event);
  part.text += event.text;
  if (event.logprobs !== '') part.logprobs.push(event.logprobs);
}

function addAnnotation(part: SeenPart, event: EventOf<'annotation'>): void {
  law(event.annotationIndex === part.annotations.length, 'annotations are numbered in order', event);
  part.annotations.push(event.annotation);
}

function endText(part: SeenPart, event: EventOf<'text-end'>): void {
  same(event.text, part.text, 'text-end repeats the deltas');
  same(event.logprobs, part.logprobs.join(), 'text-end repeats the log probabilities');
  part.textEnded = true;
}

function endPart(item: SeenItem, event: EventOf<'part-end'>): void {
  const part = openPart(item, event);
  law(part.textEnded, 'a text ends before its part', event);
  same(event.part, wholePart(part), 'part-end repeats the deltas');
  item.parts.push(event.part);
  item.part = undefined;
}

function wholePart({ type, text, annotations, logprobs }: SeenPart): Part {
  if (type === 'refusal') return { type, refusal: text };
  if (type === 'output_text')
    return { type, text, annotations: [...annotations], logprobs: logProbsIn(logprobs.join()) };
  return { type, text };
}

function openArguments(items: readonly SeenItem[], event: EventOf<'arguments-delta' | 'arguments-end'>): SeenItem {
  const item = openItem(items, event);
  law(isCall(item.start), 'only a call has arguments', event);
  law(event.call === item.start.type, `a call is shown in one way (started as ${item.start.type})`, event);
  law(!RUNS.has(item.start.type) || item.run.length === 1, 'a run begins before its arguments', event);
  law(!item.argumentsEnded, 'nothing is added to arguments after their end', event);
  if (event.type === 'arguments-delta') law(event.text !== '', 'a delta is not empty', event);
  return item;
}

/** The calls whose runs have events. */
const RUNS: ReadonlySet<OutputItem['type']> = new Set(['mcp_call', 'code_interpreter_call'] as const);

function isCall({ type }: OutputItem): boolean {
  return type === 'function_call' || type === 'custom_tool_call' || RUNS.has(type);
}

function endArguments(item: SeenItem, event: EventOf<'arguments-end'>): void {
  same(event.arguments, item.arguments, 'arguments-end repeats the deltas');
  if ('call_id' in item.start && 'name' in item.start)
    same(event.name, item.start.name, 'arguments-end repeats the name');
  item.argumentsEnded = true;
}

function addListState(item: SeenItem, event: EventOf<'list-progress' | 'list-end'>): void {
  law(item.start.type === 'mcp_list_tools', `a list fits its item (${item.start.type})`, event);
  law(item.run.length === (event.type === 'list-end' ? 1 : 0), 'a list begins before it ends, each once', event);
  item.run.push(event.type === 'list-end' ? 'completed' : 'in_progress');
}

/** The calls whose arguments have no events. */
const WITHOUT_ARGUMENTS: ReadonlySet<string> = new Set([
  'web_search_call',
  'file_search_call',
  'image_generation_call',
]);

function addCallState(item: SeenItem, event: EventOf<'call-state'>): void {
  law(item.start.type === event.kind, `a state fits its item (${item.start.type})`, event);
  law(!item.run.includes(event.state), 'a call comes to each state once', event);
  if (event.kind === 'compaction') return expectCompacting(item, event);
  law((item.run.length === 0) === (event.state === 'in_progress'), 'a call is first of all in progress', event);
  const isWhole = WITHOUT_ARGUMENTS.has(event.kind) || item.argumentsEnded === (event.state !== 'in_progress');
  law(isWhole, 'a call runs when it is whole', event);
  item.run.push(event.state);
}

function expectCompacting(item: SeenItem, event: EventOf<'call-state'>): void {
  same(item.start, { ...item.start, encrypted_content: '' }, 'a summary that begins is still empty');
  item.run.push(event.state);
}

function addPartialImage(item: SeenItem, event: EventOf<'partial-image'>): void {
  law(item.start.type === event.kind, `an unfinished picture fits its item (${item.start.type})`, event);
  law(item.run.at(-1) === 'generating', 'a picture is unfinished while it is made', event);
  law(event.image.number === item.partials, 'unfinished pictures are counted from 0', event);
  law(item.partials < 3, 'there are at most three of them', event);
  item.partials += 1;
}

function endItem(items: readonly SeenItem[], event: EventOf<'item-end'>): void {
  const item = openItem(items, { ...event, itemId: event.item.id });
  if (isNativeId(event.item.id)) {
    item.end = event.item;
    return;
  }
  law(!item.part, 'a part ends before its item', event);
  law(!isCall(item.start) || item.argumentsEnded, 'arguments end before their call', event);
  law(statusOf(event.item) !== 'in_progress', 'an item that ends is no longer in progress', event);
  same(event.item, rebuilt(item, event.item), 'item-end repeats the events of the item');
  item.end = event.item;
}

/** Items without a status are complete as they are. */
export function statusOf(item: OutputItem): string {
  return 'status' in item ? item.status : 'completed';
}

/** The item as the events before its end reported it; only its status, its output and its tools are new at the end. */
function rebuilt({ start, parts, arguments: text, run }: SeenItem, end: OutputItem): OutputItem {
  switch (start.type) {
    case 'message':
      return { ...start, status: sameType(start, end).status, content: parts };
    case 'reasoning': {
      const { status } = sameType(start, end);
      const kept = sealOf(sameType(start, end));
      return start.content
        ? { ...start, status, content: parts, ...kept }
        : { ...start, status, summary: parts, ...kept };
    }
    case 'function_call':
      return { ...start, status: sameType(start, end).status, arguments: text };
    case 'custom_tool_call':
      return { ...start, status: sameType(start, end).status, input: text };
    case 'function_call_output':
      return { ...start, status: 'completed', output: sameType(start, end).output };
    case 'mcp_call':
      return { ...start, arguments: text, ...resultOf(sameType(start, end), run) };
    case 'code_interpreter_call':
      return { ...start, code: text, ...shownBy(sameType(start, end), run) };
    case 'web_search_call':
      return isOurs(start)
        ? { ...start, ...searchedBy(sameType(start, end), run) }
        : { ...start, ...foundBy(sameType(start, end), run) };
    case 'file_search_call': {
      const { status, queries, results } = sameType(start, end);
      return { ...start, status, queries, results };
    }
    case 'image_generation_call':
      return { ...start, ...madeBy(sameType(start, end), run) };
    case 'tool_search_call': {
      const { status, arguments: searched } = sameType(start, end);
      return { ...start, status, arguments: searched };
    }
    case 'tool_search_output':
      return { ...start, status: 'completed', tools: sameType(start, end).tools };
    case 'shell_call':
    case 'local_shell_call': {
      const { status, action } = sameType(start, end) as typeof start;
      return { ...start, status, action } as typeof start;
    }
    case 'apply_patch_call': {
      const { status, operation } = sameType(start, end);
      return { ...start, status, operation };
    }
    case 'program': {
      const { code, fingerprint } = sameType(start, end);
      return { ...start, code, fingerprint };
    }
    case 'program_output': {
      const { result, status } = sameType(start, end);
      return { ...start, result, status };
    }
    case 'multi_agent_call':
      return { ...start, arguments: sameType(start, end).arguments };
    case 'multi_agent_call_output':
      return { ...start, output: sameType(start, end).output };
    case 'agent_message':
    case 'mcp_approval_request':
      return start;
    case 'compaction':
      return run.length > 0 ? { ...start, encrypted_content: sameType(start, end).encrypted_content } : start;
    case 'shell_call_output':
      return { ...start, status: 'completed', output: sameType(start, end).output };
    case 'mcp_list_tools':
      same(run, ['in_progress', 'completed'], 'a list has all of its states');
      return { ...start, status: 'completed', tools: sameType(start, end).tools };
    default:
      return unreachable(start);
  }
}

/** What leads back to a thought is reported at its end only. */
function sealOf(end: Pick<ReasoningItem, 'encrypted_content'>): Partial<ReasoningItem> {
  return 'encrypted_content' in end ? { encrypted_content: end.encrypted_content } : {};
}

function sameType<Item extends OutputItem>(start: Item, end: OutputItem): Item {
  if (end.type !== start.type) return broken(`an item keeps its type (started as ${start.type})`, end);
  // The cast: the types are the same.
  return end as Item;
}

/** A search has all of its states; only its sources, and what leads back to it, are new at the end. */
function foundBy(end: WebSearchCallItem, run: readonly string[]): Partial<WebSearchCallItem> {
  const { status, action, encrypted_content: encrypted } = end;
  law(status === 'completed' || status === 'failed', 'a search completes or fails', end);
  const states = ['in_progress', 'searching', ...(status === 'completed' ? ['completed'] : [])];
  same(run, states, 'a search has all of its states');
  const sealed = encrypted === undefined ? {} : { encrypted_content: encrypted };
  return { status, ...('sources' in action ? { action } : {}), ...sealed };
}

/** A search by this server begins before the model has written what for: without any query. */
function isOurs({ action }: WebSearchCallItem): boolean {
  return action.type === 'search' && action.queries?.length === 0;
}

function searchedBy(end: WebSearchCallItem, run: readonly string[]): Partial<WebSearchCallItem> {
  const { status, action, results } = end;
  law(status === 'completed' || status === 'failed', 'a search completes or fails', end);
  const states = [
    'in_progress',
    ...(run.length > 1 ? ['searching'] : []),
    ...(status === 'completed' ? ['completed'] : []),
  ];
  same(run, states, 'a search has all of its states');
  return { status, action, ...(results === undefined ? {} : { results }) };
}

/** Only a picture that is there completes; what is known of it may be known at its end only. */
function madeBy(
  { id: _, type: __, ...end }: ImageGenerationCallItem,
  run: readonly string[],
): Partial<ImageGenerationCallItem> {
  const { status, result } = end;
  law(status === 'completed' || status === 'failed', 'a picture completes or fails', status);
  law((status === 'completed') === (result !== null), 'a picture that completes is there', status);
  const states = ['in_progress', ...(run.length > 1 ? ['generating'] : [])];
  same(run, status === 'completed' ? ['in_progress', 'generating', 'completed'] : states, 'a picture has all states');
  return end;
}

/** Only code that is complete runs, only a run that succeeded completes, and none has outputs before it ends. */
function shownBy(
  { status, outputs }: CodeInterpreterCallItem,
  run: readonly string[],
): Pick<CodeInterpreterCallItem, 'status' | 'outputs'> {
  const states = ['in_progress', ...(run.length > 1 ? ['interpreting'] : [])];
  same(
    run,
    status === 'completed' ? ['in_progress', 'interpreting', 'completed'] : states,
    'a run of code has all of its states',
  );
  law(status !== 'failed' || run.length === 2, 'only code that ran can fail', { status, run });
  law((status === 'incomplete') === (outputs === null), 'a run that ended has outputs', { status, outputs });
  return { status, outputs };
}

/** A run that has ended has that status and its result; one that never ended is incomplete and has none. */
function resultOf({ output, error }: McpCallItem, run: readonly string[]): Partial<McpCallItem> {
  const [, status = 'incomplete'] = run;
  law(typeof output === 'string' || output === null, 'an output is text', output);
  law((status === 'completed') === (output !== null), 'a run has an output exactly when it completed', {
    status,
    output,
  });
  law((status === 'failed') === (error !== null), 'a run has an error exactly when it failed', { status, error });
  return { status: status as McpCallItem['status'], output, error };
}
