/** Keeps whole numbers above 2^53 in the messages to and from MCP servers, which the SDKs write and read with JavaScript's rounded ones. */
import { objectIn } from '../../../protocol/json/json-text.ts';
import { hasLongNumber, markedIn, unmarked } from '../../../protocol/json/whole-numbers.ts';
import { isRecord } from '../../../protocol/record.ts';
import type { Fetch, Transport } from './client/mcp-client.ts';
import { isEventStream, tapBody } from './http-pool.ts';

/**
 * The same fetch: marks in what is posted become numbers, and long numbers in the structured content of results become
 * marks, which `toToolResult` reads.
 */
export function withExactNumbers(fetch: Fetch): Fetch {
  return async (url, init = {}) => {
    const { body } = init;
    const response = await fetch(url, typeof body === 'string' ? { ...init, body: unmarked(body) } : init);
    if (isEventStream(response)) return tapBody(response, { chunk: () => {}, rewrite: lineMarker(DATA_LINE) });
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || !response.body || !/[/+]json\b/i.test(type)) return response;
    const reader = response.body.getReader();
    const markedBody = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const pieces: Uint8Array[] = [];
        for (let next = await reader.read(); !next.done; next = await reader.read()) pieces.push(next.value);
        if (pieces.length > 0) controller.enqueue(markBytes(Buffer.concat(pieces), markMessage));
        controller.close();
      },
      cancel: (reason) => reader.cancel(reason),
    });
    const { status, headers } = response;
    return new Response(markedBody, { status, headers: [...headers] });
  };
}

/** The part of an SDK's transport that writes and reads; it is the SDK's own, and may be missing in another version. */
interface ProcessParts {
  readonly _process?: { readonly stdin?: { write(text: unknown, ...rest: unknown[]): boolean } | null };
  readonly _readBuffer?: { append(chunk: Uint8Array): void };
}

/** The same for the pipes of a process. Without the parts it needs, numbers are rounded. */
export function exactPipes(transport: Transport, maxBytes: number): void {
  // The cast: both SDKs have these fields, and all of them are optional here.
  const parts = transport as ProcessParts;
  const buffer = parts._readBuffer;
  if (buffer) {
    const append = buffer.append.bind(buffer);
    const mark = lineMarker(LINE, maxBytes);
    buffer.append = (chunk) => {
      const lines = mark(chunk);
      if (lines.length > 0) append(lines);
    };
  }
  const send = transport.send.bind(transport);
  const prepared = new WeakSet<object>();
  transport.send = (message, options) => {
    const stdin = parts._process?.stdin;
    if (stdin && !prepared.has(stdin)) {
      prepared.add(stdin);
      const write = stdin.write.bind(stdin);
      stdin.write = (text, ...rest) => write(typeof text === 'string' ? unmarked(text) : text, ...rest);
    }
    return send(message, options);
  };
}

const LINE = /^(?<head>)(?<json>\{.*)$/gm;
const DATA_LINE = /^(?<head>data: ?)(?<json>\{.*)$/gm;

/** Rewrites whole lines; the beginning of a line waits for its end, up to a number of bytes. */
function lineMarker(line: RegExp, maxBytes = Number.POSITIVE_INFINITY): (bytes: Uint8Array) => Uint8Array {
  let waiting: Uint8Array[] = [];
  let size = 0;
  return (bytes) => {
    const end = bytes.lastIndexOf(LINE_FEED) + 1;
    if (end === 0 && size + bytes.length <= maxBytes) {
      waiting.push(bytes);
      size += bytes.length;
      return NOTHING;
    }
    // A line that is too long is handed on, to be refused.
    const at = end === 0 ? bytes.length : end;
    const lines = waiting.length === 0 ? bytes.subarray(0, at) : Buffer.concat([...waiting, bytes.subarray(0, at)]);
    waiting = at < bytes.length ? [bytes.subarray(at)] : [];
    size = bytes.length - at;
    return markBytes(lines, (text) =>
      text.replace(line, (all, head: string, json: string) => (needsMarks(json) ? head + markMessage(json) : all)),
    );
  };
}

const LINE_FEED = 10;
const NOTHING = new Uint8Array();
const NAME = Buffer.from('"structuredContent"');

/** Most bytes hold no structured content, and are not decoded. */
function markBytes(bytes: Uint8Array, mark: (text: string) => string): Uint8Array {
  if (!Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).includes(NAME)) return bytes;
  return Buffer.from(mark(Buffer.from(bytes).toString('utf8')));
}

function needsMarks(json: string): boolean {
  return json.includes('"structuredContent"') && hasLongNumber(json);
}

/** Only in the structured content of a result: everything else is read by the SDK. */
function markMessage(json: string): string {
  const message = needsMarks(json) ? objectIn(json) : undefined;
  const marked = message && markedIn(json);
  if (!message || !isRecord(message.result) || !isRecord(marked) || !isRecord(marked.result)) return json;
  const { structuredContent } = marked.result;
  return JSON.stringify({ ...message, result: { ...message.result, structuredContent } });
}
