/**
 * Reads a recorded Chat Completions answer with the simplest rules that hold for all recordings, as a check on the real
 * reader: everything is in memory, nothing is streamed, and nothing of `src` is used.
 */

/** The content, in order. Neighbours of one kind are one segment; each call is a segment of its own. */
export type Segment =
  | { readonly reasoning: string }
  | { readonly text: string }
  | { readonly refusal: string }
  /** A search of the model's own server, or the page that it read; no Chat recording has one. */
  | { readonly search: string }
  | { readonly image: string }
  | { readonly call: { readonly id: string; readonly name: string; readonly arguments: string } };

/** The token counts as the Responses API names them. */
export type Counts = Readonly<Record<'input' | 'cached' | 'output' | 'reasoning' | 'total', number>>;

/** A recording, read. */
export interface Reading {
  readonly segments: readonly Segment[];
  readonly status: 'completed' | 'incomplete' | 'failed';
  readonly usage: Counts;
  readonly tokens: readonly string[];
  readonly error: string | undefined;
}

/** JSON of unknown shape; the recordings are known, so a wrong guess only fails a test. */
interface Json {
  readonly [key: string]: Json;
}

interface Open {
  readonly kind: 'reasoning' | 'text' | 'refusal' | 'call' | 'search';
  value: string;
  id: string;
  name: string;
  readonly index: unknown;
}

/** Reads a recorded event stream. */
export function readChatStream(recording: string): Reading {
  const data = recording
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice('data:'.length).trim());
  const chunks = data.filter((line) => line !== '[DONE]').map((line) => JSON.parse(line) as Json);
  return readChunks(chunks, data.includes('[DONE]'), (choice) => choice.delta);
}

/** Reads a recorded answer that was not streamed. */
export function readChatJson(recording: string): Reading {
  return readChunks([JSON.parse(recording) as Json], true, (choice) => choice.message);
}

function readChunks(chunks: readonly Json[], ended: boolean, written: (choice: Json) => Json | undefined): Reading {
  const choices = chunks.flatMap(({ choices = [] }) => [...(choices as readonly Json[])].filter(isFirst));
  const finish = choices.map(({ finish_reason }) => finish_reason as unknown).findLast(Boolean);
  const error = chunks.map(({ error }) => error?.message as unknown).find(Boolean) as string | undefined;
  const status = error || (!finish && !ended) ? 'failed' : statusOf(finish);
  const deltas = choices.map((choice) => written(choice) ?? {});
  const withText = choices.filter((choice) => written(choice)?.content);
  return {
    segments: segmentsOf(deltas).map((open) => segment(open, status)),
    status,
    usage: countsOf(chunks),
    tokens: withText.flatMap(({ logprobs }) => tokensOf(logprobs)),
    error,
  };
}

function isFirst({ index = 0 }: { readonly index?: unknown }): boolean {
  return index === 0;
}

function statusOf(finish: unknown): Reading['status'] {
  return finish === 'length' || finish === 'content_filter' ? 'incomplete' : 'completed';
}

function segmentsOf(deltas: readonly Json[]): readonly Open[] {
  const segments: Open[] = [];
  const field = ['reasoning_content', 'reasoning'].find((name) => deltas.some((delta) => delta[name]));
  for (const delta of deltas) {
    for (const tool of (delta.executed_tools as unknown as readonly Json[] | null) ?? []) addSearch(segments, tool);
    add(segments, 'reasoning', field && delta[field]);
    addContent(segments, delta.content);
    // No recording has both.
    if (!delta.content) add(segments, 'text', delta.audio?.transcript);
    add(segments, 'refusal', delta.refusal);
    for (const call of (delta.tool_calls as unknown as readonly Json[] | null) ?? []) addCall(segments, call);
    if (delta.function_call) addCall(segments, { function: delta.function_call } as unknown as Json);
  }
  return splitThinking(segments);
}

function add(segments: Open[], kind: Open['kind'], value: unknown): void {
  if (!value) return;
  const last = segments.at(-1);
  if (last?.kind === kind) last.value += value;
  else segments.push({ kind, value: String(value), id: '', name: '', index: undefined });
}

/** Mistral writes a list of parts. */
function addContent(segments: Open[], content: unknown): void {
  const isObject = typeof content === 'object' && content !== null;
  if (!Array.isArray(content)) return add(segments, 'text', isObject ? JSON.stringify(content) : content);
  for (const part of content) {
    if (part.type === 'text') add(segments, 'text', part.text);
    if (part.type === 'thinking') for (const thought of part.thinking) add(segments, 'reasoning', thought.text);
  }
}

/** In every recording a call begins with its name; a delta without a name continues the call of its index. */
function addCall(segments: Open[], call: Json): void {
  const { id, index, function: called, custom } = call as { [key: string]: Json | undefined };
  const name = called?.name ?? custom?.name;
  // Snowflake writes an empty one beside the function.
  const value = custom && !called ? JSON.stringify({ input: custom.input }) : String(called?.arguments ?? '');
  const open = segments.findLast((segment) => segment.kind === 'call' && segment.index === index);
  if (name || !open) segments.push({ kind: 'call', value, id: String(id ?? ''), name: String(name), index });
  else open.value += value;
}

/** A tool of the model server's own is reported when it begins, and again with its output. */
function addSearch(segments: Open[], { index, type, arguments: text }: Json): void {
  const { query, url } = JSON.parse(String(text || '{}'));
  const value = String(type) === 'search' ? query : /^visit/.test(String(type)) ? url : undefined;
  const isKnown = segments.some((segment) => segment.kind === 'search' && segment.index === index);
  if (value !== undefined && !isKnown) segments.push({ kind: 'search', value, id: '', name: '', index });
}

/** Some models write their reasoning into the text. */
function splitThinking(segments: readonly Open[]): readonly Open[] {
  const [first, ...rest] = segments;
  const thinking = first?.kind === 'text' && /^\s*<think>([\s\S]*?)(?:<\/think>([\s\S]*))?$/.exec(first.value);
  if (!thinking) return segments;
  const [, thought = '', answer = ''] = thinking;
  const pieces = [{ ...first, kind: 'reasoning' as const, value: thought }, { ...first, value: answer }, ...rest];
  return pieces.filter(({ value }) => value !== '');
}

function segment({ kind, value, id, name }: Open, status: Reading['status']): Segment {
  if (kind === 'reasoning') return { reasoning: value };
  if (kind === 'text') return { text: value };
  if (kind === 'refusal') return { refusal: value };
  if (kind === 'search') return { search: value };
  return { call: { id, name, arguments: status === 'completed' ? value || '{}' : value } };
}

/** Counts are cumulative in every recording that repeats them, so the last ones are valid. */
function countsOf(chunks: readonly Json[]): Counts {
  const usage = chunks.map((chunk) => chunk.usage ?? chunk.x_groq?.usage).findLast(Boolean);
  const number = (...found: readonly unknown[]) => Number(found.find((value) => typeof value === 'number') ?? 0);
  const cached = [
    usage?.prompt_tokens_details?.cached_tokens,
    usage?.prompt_cache_hit_tokens,
    usage?.num_cached_tokens,
    usage?.cached_input_tokens,
  ].map((value) => number(value));
  const input = number(usage?.prompt_tokens);
  const written = number(usage?.completion_tokens);
  const reasoning = number(usage?.completion_tokens_details?.reasoning_tokens, usage?.reasoning_tokens);
  // Some count reasoning in the total only, or nowhere; others estimate it a little too high.
  const hidden = Math.max(0, number(usage?.total_tokens) - input - written);
  const output = written + (hidden || (reasoning > 2 * written ? reasoning : 0));
  return {
    input,
    cached: Math.min(input, Math.max(...cached)),
    output,
    reasoning: Math.min(reasoning || hidden, output),
    total: input + output,
  };
}

function tokensOf(logprobs: Json | undefined): readonly string[] {
  const content = (logprobs?.content ?? []) as unknown as readonly { readonly token: string }[];
  return content.map(({ token }) => token);
}
