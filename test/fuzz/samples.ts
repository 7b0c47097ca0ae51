/** Recordings of each API: those on this machine, and some of the repository's own. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chatCompletion, chatStream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { listShared, readSharedBytes } from '../support/shared.ts';
import type { ByteText } from './byte-edits.ts';
import type { Json } from './json-edits.ts';

const golden = join(import.meta.dirname, '../apis/dialects/golden/openai');
const CALL = { id: 'call_1', name: 'look', arguments: '{"a":"b"}' };
const OWN_CALL = { id: 'call_2', name: 'clock', arguments: '{}' };

/** Chat Completions. */
export const chatStreams: readonly ByteText[] = [
  ...[textStream('Hello!'), textStream(['<think>Hm.</think>', 'é', '😀 there'])].map(fromText),
  ...[toolCallStream([CALL]), toolCallStream([OWN_CALL]), toolCallStream([CALL, OWN_CALL])].map(fromText),
  fromText(chatStream({ reasoning_content: 'Hm.' }, { content: 'So.' }, { refusal: 'No.' })),
  ...recorded('chat-stream', '.sse'),
];
export const chatAnswers: readonly ByteText[] = [
  ...[chatCompletion('Hello!'), chatCompletion({ content: null, reasoning: 'Hm.', refusal: 'No.' })].map(fromText),
  ...recorded('chat-json', '.json'),
];

/** Responses: what we write ourselves is one. */
export const responsesStreams: readonly ByteText[] = [
  ...goldenStreams().toSorted(byWords),
  ...recorded('responses-stream', '.sse'),
];
export const responsesAnswers: readonly ByteText[] = [
  ...responsesStreams.flatMap((stream) => /"response":(\{.*\})\}\n\ndata: \[DONE/.exec(stream)?.[1] ?? []).slice(0, 20),
  ...recorded('responses-json', '.json'),
];

const MESSAGE_EVENTS: readonly Json[] = [
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      usage: { input_tokens: 3, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Hm.' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2ln' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Hello!' } },
  { type: 'content_block_stop', index: 1 },
  {
    type: 'content_block_start',
    index: 2,
    content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
  },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":1}' } },
  { type: 'content_block_stop', index: 2 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' }, usage: { output_tokens: 9 } },
  { type: 'message_stop' },
];

/** Messages. */
export const messagesStreams: readonly ByteText[] = [
  fromText(MESSAGE_EVENTS.map((event) => `event: ${typeOf(event)}\ndata: ${JSON.stringify(event)}\n\n`).join('')),
  ...recorded('anthropic-stream', '.sse'),
];
export const messagesAnswers: readonly ByteText[] = [
  fromText(
    '{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hello!"},{"type":"tool_use","id":"t","name":"look","input":{}}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}',
  ),
  ...recorded('anthropic-json', '.json'),
];

/** Bodies of errors. */
export const errorAnswers: readonly ByteText[] = [
  ...['{"error":{"message":"m","type":"t","param":null,"code":"c"}}', '{"detail":"m"}', '<html>', ''].map(fromText),
  ...recorded('errors', '.json'),
];

/** The requests that led to the recordings, by the folder of these. */
export function recordedRequests(folder: string): readonly Json[] {
  return listShared(`corpus/${folder}`, '.request.json')
    .map((name) => readSharedBytes(`corpus/${folder}/${name}`))
    .filter(({ length }) => length < 4000)
    .map((bytes) => JSON.parse(String(bytes)) as Json);
}

function recorded(folder: string, ending: string): readonly ByteText[] {
  const names = listShared(`corpus/${folder}`, ending).filter((name) => !name.endsWith('.request.json'));
  return names.map((name) => readSharedBytes(`corpus/${folder}/${name}`).toString('latin1'));
}

/** What the router writes in each scene of the dialects. */
function goldenStreams(): readonly ByteText[] {
  return readdirSync(golden).flatMap((name) => {
    const text = readFileSync(join(golden, name), 'latin1');
    return [...text.matchAll(/(?:event: \S+\ndata: .*\n\n)+(?:data: \[DONE\]\n\n)?/g)].map(([stream]) => stream);
  });
}

/** Those without calls of tools first: the first of all is what a model server says when nothing is asked of it. */
function byWords(one: ByteText, other: ByteText): number {
  return Number(one.includes('_call')) - Number(other.includes('_call'));
}

function typeOf(event: Json): unknown {
  return (event as { readonly type: string }).type;
}

function fromText(text: string): ByteText {
  return Buffer.from(text).toString('latin1');
}
