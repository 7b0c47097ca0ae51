/** Starts the example, kills a worker in the middle of its answer, and reads the rest from the other one. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import OpenAI from 'openai';
import type { ResponseStreamEvent } from 'openai/resources/responses/responses';

/** How much of the answer the client reads before it kills the worker, in characters. */
const ENOUGH = 120;
/** The demo model repeats it. */
const INPUT = Array.from({ length: 100 }, (_, index) => index + 1).join(' ');

/** The part of a response that the client has received. */
class Reading {
  id = '';
  text = '';
  last = -1;
  status = '';

  take(event: ResponseStreamEvent): void {
    this.last = event.sequence_number;
    if (event.type === 'response.created') this.id = event.response.id;
    if (event.type === 'response.output_text.delta') this.text += event.delta;
    if (event.type === 'response.completed') this.status = event.response.status ?? '';
  }
}

/** Starts the example on a free port, with a short lock, so that the other worker takes over soon. */
async function startServer(): Promise<{ readonly server: ChildProcess; readonly url: string }> {
  const file = fileURLToPath(import.meta.resolve('./server.js'));
  const env = { ...process.env, PORT: '0', LOCK_MS: '2000' };
  const server = spawn(process.execPath, [file], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  return { server, url: await urlOf(server) };
}

/** Passes on the example's output; resolves with the URL that it prints. */
function urlOf({ stdout, ...server }: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    if (!stdout) return reject(new Error('The example prints nothing.'));
    const lines = createInterface({ input: stdout });
    lines.on('line', (line) => {
      console.log(line);
      const [, url] = line.match(/^The Responses API is at (\S+)/) ?? [];
      if (url) resolve(url);
    });
    lines.once('close', () => reject(new Error(`The example ended with ${server.exitCode}.`)));
  });
}

/** Reads until the connection ends, which it does because its worker is killed in between. */
async function readUntilKilled(client: OpenAI, reading: Reading): Promise<void> {
  const request = { model: 'demo', input: INPUT, background: true, stream: true } as const;
  const { data: stream, response } = await client.responses.create(request).withResponse();
  const worker = Number(response.headers.get('x-worker'));
  let isKilled = false;
  try {
    for await (const event of stream) {
      reading.take(event);
      if (isKilled || reading.text.length < ENOUGH) continue;
      isKilled = process.kill(worker, 'SIGKILL');
    }
  } catch (error) {
    console.log(`The client has lost its connection after event ${reading.last}: ${error}`);
  }
}

/** Reads the events after the last one that the client has, from whichever worker answers. */
async function readRest(client: OpenAI, reading: Reading): Promise<void> {
  const stream = await client.responses.retrieve(reading.id, { stream: true, starting_after: reading.last });
  for await (const event of stream) {
    if (event.sequence_number !== reading.last + 1) throw new Error(`Event ${reading.last + 1} is missing.`);
    reading.take(event);
  }
}

const { server, url } = await startServer();
try {
  const client = new OpenAI({ baseURL: url, apiKey: 'demo' });
  const reading = new Reading();
  await readUntilKilled(client, reading);
  const torn = reading.text.length;
  await readRest(client, reading);
  console.log(`Before: ${reading.text.slice(0, torn)}`);
  console.log(`After: ${reading.text.slice(torn)}`);
  const { output_text: stored } = await client.responses.retrieve(reading.id);
  console.log(`The client has finished: ${reading.status}, ${reading.last + 1} events, none lost or repeated`);
  if (stored !== reading.text) throw new Error('The stored response has another text.');
} finally {
  server.kill('SIGTERM');
  await once(server, 'exit');
}
