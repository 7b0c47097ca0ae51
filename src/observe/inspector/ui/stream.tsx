/** Reads an answer of the API: server-sent events, or one JSON body. */
import type { JsonObject } from '../../../protocol/record.ts';
import { parseObject, pretty } from './parts/format.tsx';

/** One event; `at` is milliseconds since the request, `text` is its part of the answer's text. */
export interface AnswerEvent {
  readonly at: number;
  readonly type: string;
  readonly data: string;
  readonly text: string;
}

/** The events that arrived together, batch by batch. */
export async function* readAnswerEvents(
  response: Response,
  began: number,
): AsyncGenerator<readonly AnswerEvent[], void> {
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  if (!isStream || !response.body) {
    const data = await response.text();
    yield [
      { at: performance.now() - began, type: 'body', data: pretty(data), text: bodyText(parseObject(data) ?? {}) },
    ];
    return;
  }
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const frames = (rest + read.value).split('\n\n');
    rest = frames.pop() ?? '';
    const at = performance.now() - began;
    yield frames.flatMap((frame) => parseFrame(frame, at));
  }
}

function parseFrame(frame: string, at: number): readonly AnswerEvent[] {
  const data = frame
    .split('\n')
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n');
  if (data === '') return [{ at, type: 'comment', data: frame, text: '' }];
  const fields = parseObject(data) ?? {};
  const type =
    typeof fields.type === 'string' ? fields.type : typeof fields.object === 'string' ? fields.object : 'data';
  return [{ at, type, data, text: eventText(type, fields) }];
}

function eventText(type: string, fields: JsonObject): string {
  if (type === 'response.output_text.delta') return String(fields.delta);
  if (type === 'content_block_delta') return String((fields.delta as JsonObject | null)?.text ?? '');
  const [choice] = Array.isArray(fields.choices)
    ? (fields.choices as readonly { delta?: { content?: unknown } }[])
    : [];
  return typeof choice?.delta?.content === 'string' ? choice.delta.content : '';
}

function bodyText({ output, choices, content: parts, error }: JsonObject): string {
  const messages = [output, Array.isArray(choices) ? choices.map(({ message }) => message) : [{ content: parts }]].find(
    Array.isArray,
  ) as readonly { readonly content?: unknown }[];
  const texts = messages.flatMap(({ content }) =>
    Array.isArray(content)
      ? content.map(({ text }) => String(text ?? ''))
      : typeof content === 'string'
        ? [content]
        : [],
  );
  return error ? String((error as JsonObject).message ?? '') : texts.join('\n');
}
