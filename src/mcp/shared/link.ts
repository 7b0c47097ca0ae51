/** One transport to an MCP server, and how to end it so that nothing is left behind. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { answerStreams } from './answer-streams.ts';
import { HttpStatusError } from './call-error.ts';
import { type Fetch, type HttpPool, MESSAGE_BYTES, withEventLines } from './http-pool.ts';
import {
  getDefaultEnvironment,
  SSEClientTransport,
  SseError,
  StdioClientTransport,
  StreamableHTTPClientTransport,
} from './sdk.ts';
import type { HttpServer, ServerSettings, StdioServer } from './server-config.ts';

/** A transport that was not started yet. */
interface Link {
  readonly transport: Transport;
  /** What the server's process wrote to its log last. */
  log(): string;
  /** Ends session, sockets and process; resolves when they are gone. */
  close(): Promise<void>;
}

/** What a link needs to know. */
interface LinkOptions {
  readonly openPool: () => HttpPool;
  /** The connection broke under a call; it cannot be relied on any more. */
  readonly onBroken: () => void;
}

/** How long a process may take to be gone, in milliseconds; the SDK asks it to end, and kills it after four seconds. */
const EXIT_MS = 6_000;
/** How much of a process's log is kept, to explain a failed start. */
const LOG_CHARACTERS = 2_048;

/** Answers to requests of the server's that are on their way at the same time. */
const MOST_ANSWERS = 32;

/** Makes the transport that the server's config asks for. */
export function openLink(server: ServerSettings, options: LinkOptions): Link {
  const link = linkTo(server, options);
  boundAnswers(link.transport);
  return link;
}

/** Drops answers where a server asks faster than it takes them: each is a request to it, and would wait here with all others. */
function boundAnswers(transport: Transport): void {
  const send = transport.send.bind(transport);
  let answers = 0;
  transport.send = async (message, options) => {
    if ('method' in message) return send(message, options);
    if (answers === MOST_ANSWERS) return;
    answers += 1;
    await send(message, options).finally(() => {
      answers -= 1;
    });
  };
}

function linkTo(server: ServerSettings, options: LinkOptions): Link {
  switch (server.transport) {
    case 'stdio':
      return stdioLink(server);
    case 'streamable-http':
      return streamableLink(server, options);
    case 'sse':
      return sseLink(server, options);
  }
}

function stdioLink({ command, args, env, cwd }: StdioServer): Link {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...getDefaultEnvironment(), ...env },
    ...(cwd === undefined ? {} : { cwd }),
    stderr: 'pipe',
    maxBufferSize: MESSAGE_BYTES,
  });
  const exit = new Promise<void>((resolve) => {
    transport.onclose = resolve;
  });
  sendInTurn(transport);
  const log = lastLines();
  transport.stderr?.on('data', log.add);
  return {
    transport,
    log: log.read,
    async close() {
      await transport.close();
      // The SDK does not wait for the end of what it killed; a grandchild may keep its pipes open for ever.
      await Promise.race([exit, sleep(EXIT_MS, undefined, { ref: false })]);
    },
  };
}

/** One message after another: the SDK would have every message that a full pipe holds up wait by a listener of its own. */
function sendInTurn(transport: InstanceType<typeof StdioClientTransport>): void {
  const send = transport.send.bind(transport);
  let last: Promise<unknown> = Promise.resolve();
  transport.send = (message) => {
    const sent = last.then(() => send(message));
    last = sent.catch(() => {});
    return sent;
  };
}

/** The end of a log from a whole line on: half a line might hold half a secret, which no redactor knows. */
function lastLines(): { add(chunk: Buffer): void; read(): string } {
  let log = '';
  let cut = false;
  return {
    add(chunk) {
      log += chunk.toString('utf8');
      cut ||= log.length > LOG_CHARACTERS;
      log = log.slice(-LOG_CHARACTERS);
    },
    read: () => (cut ? log.slice(log.indexOf('\n') + 1 || LOG_CHARACTERS) : log).trim(),
  };
}

function streamableLink({ url, headers }: HttpServer, { openPool, onBroken }: LinkOptions): Link {
  const pool = openPool();
  const fetch = answerStreams(withEventLines(pool.fetch), onBroken);
  const transport = new StreamableHTTPClientTransport(url, { fetch, requestInit: { headers: { ...headers } } });
  return {
    // The cast: the SDK's optional properties are not written for exactOptionalPropertyTypes.
    transport: transport as Transport,
    log: () => '',
    async close() {
      await transport.terminateSession().catch(() => {});
      await transport.close();
      await pool.close();
    },
  };
}

function sseLink({ url, headers }: HttpServer, { openPool }: LinkOptions): Link {
  const pool = openPool();
  const transport = new SSEClientTransport(url, {
    fetch: statusFetch(withEventLines(pool.fetch)),
    requestInit: { headers: { ...headers } },
  });
  // Its event source would reconnect by itself, to a new session that was never initialised.
  transport.onerror = (error) => {
    if (error instanceof SseError) void transport.close();
  };
  return {
    transport: transport as Transport,
    log: () => '',
    async close() {
      await transport.close();
      await pool.close();
    },
  };
}

/** Fails a request with its status; the SDK would have the status in the words of its error alone. */
function statusFetch(fetch: Fetch): Fetch {
  return async (url, init) => {
    const response = await fetch(url, init);
    if (init?.method !== 'POST' || response.ok) return response;
    await response.body?.cancel();
    throw new HttpStatusError(response.status);
  };
}
