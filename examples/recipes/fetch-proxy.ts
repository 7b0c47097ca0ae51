/** A proxy that does not use this package: it posts `req.body` and passes every byte on. */
import type { IncomingMessage, ServerResponse } from 'node:http';

const baseURL = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';

export async function proxy(req: IncomingMessage & { body?: unknown }, res: ServerResponse): Promise<void> {
  const left = new AbortController();
  res.once('close', () => left.abort());
  const answer = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', authorization: `Bearer ${process.env.MODEL_KEY}` },
    body: JSON.stringify(req.body),
    signal: left.signal,
  });
  res.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' });
  for await (const bytes of answer.body ?? []) res.write(bytes);
  res.end();
}
