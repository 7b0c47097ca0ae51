/** One transport to an MCP server, and how to end it completely. */
import { setTimeout as sleep } from 'node:timers/promises';
import { answerStreams } from './answer-streams.ts';
import { HttpStatusError } from './client/faults.ts';
import type { Fetch, McpSdk, Transport } from './client/mcp-client.ts';
import { exactPipes, withExactNumbers } from './exact-messages.ts';
import { type HttpPool, MAX_MESSAGE_BYTES, withEventLines } from './http-pool.ts';
import type { HttpServer, ServerSettings, StdioServer } from './server-config.ts';

/** A transport that was not started yet. */
export interface Link {
  readonly transport: Transport;
  /** The last log output of the server's process. */
  log(): string;
  /** Ends session, sockets and process; resolves when they are gone. */
  close(): Promise<void>;
}

/** The settings of a link. */
interface LinkOptions {
  readonly sdk: McpSdk;
  readonly openPool: () => HttpPool;
  /** The connection broke during a call and is unreliable from now on. */
  readonly onBroken: () => void;
}

/** How long a process may take to end, in milliseconds; the SDK asks it to end, and kills it after four seconds. */
const MAX_EXIT_MS = 6_000;
/** How long the end of a session over HTTP may take, in milliseconds. */
const MAX_SESSION_END_MS = 2_500;
/** The statuses of a server that wants other credentials. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403]);
/** How much of a process's log is kept, to explain a failed start. */
const MAX_LOG_CHARACTERS = 2_048;

/** Maximum number of answers being sent to requests of the server. */
const MAX_ANSWERS = 32;

/** Creates the transport that the server's config selects. */
export function openLink(server: ServerSettings, options: LinkOptions): Link {
  let link: Link;
  if (server.transport === 'stdio') link = stdioLink(server, options);
  else if (server.transport === 'sse') link = sseLink(server, options);
  else link = streamableLink(server, options);
  const { transport } = link;
  const send = transport.send.bind(transport);
  let answers = 0;
  // Drops answers if a server sends requests faster than it takes the answers, which would pile up here.
  transport.send = async (message, sendOptions) => {
    if ('method' in message) return send(message, sendOptions);
    if (answers === MAX_ANSWERS) return;
    answers += 1;
    await send(message, sendOptions).finally(() => {
      answers -= 1;
    });
  };
  return link;
}

function stdioLink(server: StdioServer, { sdk }: LinkOptions): Link {
  const transport = sdk.processTransport({ ...server, maxBufferSize: MAX_MESSAGE_BYTES });
  const exit = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  exactPipes(transport, MAX_MESSAGE_BYTES);
  sendInTurn(transport);
  const log = lastLogLines();
  transport.stderr?.on('data', log.add);
  return {
    transport,
    log: log.read,
    async close() {
      await transport.close();
      // The SDK does not wait for the end of a process it killed; a grandchild may keep its pipes open for ever.
      await Promise.race([exit, sleep(MAX_EXIT_MS, undefined, { ref: false })]);
    },
  };
}

/** Sends one message after another: if the pipe is full, the SDK would add a listener for every waiting message. */
function sendInTurn(transport: Transport): void {
  const send = transport.send.bind(transport);
  let last: Promise<unknown> = Promise.resolve();
  transport.send = (message) => {
    const sending = last.then(() => send(message));
    last = sending.catch(() => {});
    return sending;
  };
}

/** The end of a log, from the start of a line: half a line might hold half a secret, which no redactor recognises. */
function lastLogLines(): { add(chunk: Buffer): void; read(): string } {
  let log = '';
  let cut = false;
  return {
    add(chunk) {
      log += chunk.toString('utf8');
      cut ||= log.length > MAX_LOG_CHARACTERS;
      log = log.slice(-MAX_LOG_CHARACTERS);
    },
    read: () => (cut ? log.slice(log.indexOf('\n') + 1 || MAX_LOG_CHARACTERS) : log).trim(),
  };
}

function streamableLink({ url, headers, authProvider }: HttpServer, { sdk, openPool, onBroken }: LinkOptions): Link {
  const pool = openPool();
  const fetch = answerStreams(withExactNumbers(withEventLines(withHeaders(pool.fetch, url, headers))), onBroken);
  const transport = sdk.streamableTransport(url, { authProvider, fetch });
  return {
    transport,
    log: () => '',
    async close() {
      // It asks the host's OAuth provider, too, which may never answer.
      const ended = transport.terminateSession().catch(() => {});
      await Promise.race([ended, sleep(MAX_SESSION_END_MS, undefined, { ref: false })]);
      await transport.close();
      await pool.close();
    },
  };
}

function sseLink({ url, headers, authProvider }: HttpServer, { sdk, openPool }: LinkOptions): Link {
  const pool = openPool();
  const exactFetch = withExactNumbers(withEventLines(withHeaders(pool.fetch, url, headers)));
  // Fails a request with its status, which the SDK would only put into the text of its error.
  const fetch: Fetch = async (target, init) => {
    const response = await exactFetch(target, init);
    if (init?.method !== 'POST' || response.ok) return response;
    // With OAuth, the SDK deals with refusals.
    if (authProvider && REFUSALS.has(response.status)) return response;
    await response.body?.cancel();
    throw new HttpStatusError(response.status);
  };
  const transport = sdk.sseTransport(url, { authProvider, fetch });
  return {
    transport,
    log: () => '',
    async close() {
      await transport.close();
      await pool.close();
    },
  };
}

/** Adds the server's headers to requests to it: with OAuth, others go to authorization servers. */
function withHeaders(fetch: Fetch, { origin }: URL, headers: HttpServer['headers']): Fetch {
  return (url, init = {}) => {
    if (new URL(url).origin !== origin) return fetch(url, init);
    const allHeaders = new Headers(headers);
    new Headers(init.headers).forEach((value, name) => {
      allHeaders.set(name, value);
    });
    return fetch(url, { ...init, headers: allHeaders });
  };
}
