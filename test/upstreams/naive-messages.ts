/**
 * Reads a recorded Messages answer with the simplest rules that hold for all recordings, as a check on the real reader:
 * everything is in memory, nothing is streamed, and nothing of `src` is used.
 */
import type { Counts, Reading, Segment } from '../support/naive-chat.ts';

/** JSON of unknown shape; the recordings are known, so a wrong guess only fails a test. */
interface Json {
  readonly [key: string]: Json;
}
type Block = Record<string, unknown> & { type: string };

/** A recording, read; `thoughts` are the thinking blocks as the model must be given them back. */
export interface MessagesReading extends Omit<Reading, 'error' | 'tokens'> {
  readonly thoughts: readonly unknown[];
  /** What each look into the web gave, where the model itself asked: the blocks that it must be given back. */
  readonly looks: readonly unknown[];
  /** The addresses that the text cites, each with the text between its offsets. */
  readonly cited: readonly (readonly [url: string, text: string])[];
}

/** The whole streams in a file: some hold those of several turns, one behind the other. */
export function streamsIn(recording: string): readonly string[] {
  const parts = recording.split(/(?=event: message_start\n)/);
  return parts.filter((part) => part.trim() !== '');
}

/** Reads one recorded stream. */
export function readMessagesStream(recording: string): MessagesReading {
  const lines = recording.split('\n').filter((line) => line.startsWith('data:'));
  const events = lines.map((line) => line.slice('data:'.length).trim()).filter((data) => data !== '[DONE]');
  const content: Block[] = [];
  let offset = 0;
  let message: Json = {};
  let usage: object = {};
  for (const event of events.map((data) => JSON.parse(data) as Json)) {
    if (String(event.type) === 'message_start') {
      message = { ...event.message } as Json;
      content.push(...((message.content ?? []) as unknown as Block[]));
      offset = content.length;
      usage = reported(event.message?.usage);
    }
    if (String(event.type) === 'content_block_start') {
      content[offset + Number(event.index)] = { ...(event.content_block as unknown as Block) };
    }
    if (String(event.type) === 'content_block_delta') {
      addDelta(content[offset + Number(event.index)] as Block, event.delta as unknown as Block);
    }
    if (String(event.type) !== 'message_delta') continue;
    message = { ...message, stop_reason: event.delta?.stop_reason as Json };
    usage = { ...usage, ...reported(event.usage) };
  }
  return read(content, String(message.stop_reason), usage as Json);
}

/** Reads a recorded answer that was not streamed. */
export function readMessagesJson(recording: string): MessagesReading {
  const message = JSON.parse(recording) as Json;
  return read(message.content as unknown as Block[], String(message.stop_reason), reported(message.usage) as Json);
}

function reported(usage: Json | undefined): object {
  return Object.fromEntries(Object.entries(usage ?? {}).filter(([, value]) => value !== null));
}

function addDelta(block: Block, delta: Block): void {
  if (delta.type === 'citations_delta') block.citations = [...((block.citations as unknown[]) ?? []), delta.citation];
  for (const field of ['text', 'thinking', 'signature', 'partial_json']) {
    if (field in delta) block[field] = `${block[field] ?? ''}${delta[field]}`;
  }
}

function read(content: readonly Block[], stop: string, usage: Json): MessagesReading {
  const status = CUT_OFF.includes(stop) ? 'incomplete' : 'completed';
  return {
    segments: segmentsOf(content, status),
    status,
    usage: countsOf(usage),
    thoughts: content.filter(({ type }) => type.endsWith('thinking')).map(thoughtOf),
    looks: content.flatMap((block) => looksOf(block, content)),
    cited: content.flatMap(citedIn),
  };
}

const CUT_OFF = ['max_tokens', 'pause_turn', 'refusal'];

/** Texts are one until the model thinks, calls or looks into the web; what else its own server ran is left out. */
function segmentsOf(content: readonly Block[], status: string): readonly Segment[] {
  const segments: Segment[] = [];
  for (const block of content) {
    const last = segments.at(-1);
    const text = block.type === 'text' ? String(block.text) : '';
    if (text !== '' && last && 'text' in last) segments[segments.length - 1] = { text: last.text + text };
    else if (text !== '') segments.push({ text });
    if (block.type === 'thinking' && block.thinking) segments.push({ reasoning: String(block.thinking) });
    if (WEB.includes(String(block.name))) segments.push({ search: String(Object.values(inputOf(block))[0] ?? '') });
    if (block.type === 'tool_use') segments.push({ call: callOf(block, status) });
  }
  return segments;
}

const WEB = ['web_search', 'web_fetch'];

function inputOf({ input, partial_json: json }: Block): Json {
  return json ? JSON.parse(String(json)) : (input as Json);
}

function looksOf(block: Block, content: readonly Block[]): readonly unknown[] {
  const { type, id, name, caller } = block;
  const answer = content.find(({ tool_use_id }) => tool_use_id === id);
  if (!WEB.includes(String(name)) || !answer || (caller && (caller as Json).type !== ('direct' as unknown))) return [];
  const result = { type: answer.type, tool_use_id: id, content: answer.content };
  return [[{ type, id, name, input: inputOf(block) }, result]];
}

function callOf({ id, name, input, partial_json: json }: Block, status: string) {
  const bare = status === 'completed' ? JSON.stringify(input) : '';
  return { id: String(id), name: String(name), arguments: String(json ?? '') || bare };
}

function thoughtOf({ type, thinking, signature, data }: Block): unknown {
  return type === 'thinking' ? { type, thinking, signature } : { type, data };
}

function citedIn({ text, citations }: Block): readonly (readonly [string, string])[] {
  const urls = ((citations ?? []) as Json[]).flatMap(({ url }) => (url ? [String(url)] : []));
  return urls.map((url) => [url, String(text)]);
}

function countsOf(usage: Json): Counts {
  const count = (name: string) => Number(usage[name] ?? 0);
  const cached = count('cache_read_input_tokens');
  const input = count('input_tokens') + cached + count('cache_creation_input_tokens');
  const reasoning = Number(usage.output_tokens_details?.thinking_tokens ?? 0);
  return { input, cached, output: count('output_tokens'), reasoning, total: input + count('output_tokens') };
}
