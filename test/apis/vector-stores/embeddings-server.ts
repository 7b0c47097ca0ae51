/** A server that embeds: each word has a direction, so that texts with the same words are near. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

const DIMENSIONS = 256;

/** The words of a text as a vector of length 1. */
export function embeddingOf(text: string, dimensions = DIMENSIONS): number[] {
  const vector = new Array<number>(dimensions).fill(0);
  for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
    let hash = 2166136261;
    for (const letter of word) hash = Math.imul(hash ^ (letter.codePointAt(0) ?? 0), 16777619) >>> 0;
    vector[hash % dimensions] = (vector[hash % dimensions] ?? 0) + 1;
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((value) => value / length);
}

interface Asked {
  readonly input: readonly string[];
  readonly model: string;
  readonly encoding_format: string;
  readonly dimensions?: number;
}

type Answer = (asked: Asked, res: ServerResponse, req: IncomingMessage) => void;

/** Answers with all embeddings. */
export function sendAll({ input, encoding_format, dimensions }: Asked, res: ServerResponse): void {
  const data = input.map((text, index) => ({
    index,
    embedding: written(embeddingOf(text, dimensions), encoding_format),
  }));
  sendJson(res, { data });
}

function written(vector: readonly number[], format: string): unknown {
  return format === 'base64' ? Buffer.from(Float32Array.from(vector).buffer).toString('base64') : vector;
}

/** Answers with JSON. */
export function sendJson(res: ServerResponse, json: unknown, status = 200, headers: Record<string, string> = {}): void {
  res.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(json));
}

/** A server on a port of its own; `answer` may be replaced at any time. */
export async function embeddingsServerOf(answer: Answer = sendAll) {
  const asked: Asked[] = [];
  const state = { answer };
  const server = createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      const body = JSON.parse(Buffer.concat(pieces).toString()) as Asked;
      asked.push(body);
      state.answer(body, res, req);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    baseURL: `http://127.0.0.1:${port}/v1`,
    asked,
    answerWith(next: Answer = sendAll) {
      state.answer = next;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}
