/** The only way out of a container of a shell: a proxy of this process, on a socket that is bound into its sandbox. */
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pipeline, Transform } from 'node:stream';
import { HELLO_HEADER_BYTES, helloBytes, helloName } from './client-hello.ts';
import type { NetworkSettings } from './shell-network.ts';

const MAX_HEADER_BYTES = 8192;
/** For the request, the connection, and the greeting. */
const BEGIN_MS = 10_000;
const IDLE_MS = 60_000;
const AUTHORITY = /^([a-z0-9.-]+):\d{1,5}$/i;

const ONLY_TLS = 'Only HTTPS leaves this container, by CONNECT.';
const NOT_LISTED = "This host is not on the container's allow list.";
const NOT_OPEN = 'This port is not open.';
/** One text for all reasons, and no other status: their difference would show which names and addresses the host's own network has. */
const UNREACHABLE = 'This host cannot be reached.';

/**
 * Opens tunnels, each to a domain of the list, at an address that the egress guard has checked, for TLS with that domain alone. It opens
 * them only while a command runs, and ends them with it. What it is asked is never sent on: it reads a `CONNECT`, and writes bytes of TLS.
 */
export class NetworkProxy {
  /** The path of its socket. */
  readonly path: string;
  private readonly folder: string;
  private readonly domains: ReadonlySet<string>;
  private readonly settings: NetworkSettings;
  private readonly server = createServer({
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: BEGIN_MS,
    requestTimeout: BEGIN_MS,
  });
  private readonly sockets = new Set<Socket>();
  /** Aborted where no command runs. */
  private command = new AbortController();
  private used = 0;

  /** Listens in a folder that only this user can open. */
  static async start(domains: readonly string[], settings: NetworkSettings): Promise<NetworkProxy> {
    const folder = await mkdtemp(join(tmpdir(), 'shell-network-'));
    const proxy = new NetworkProxy(folder, domains, settings);
    try {
      proxy.server.listen(proxy.path);
      await once(proxy.server, 'listening');
      proxy.server.unref();
      return proxy;
    } catch (error) {
      await proxy.close();
      throw error;
    }
  }

  private constructor(folder: string, domains: readonly string[], settings: NetworkSettings) {
    this.folder = folder;
    this.path = join(folder, 'proxy');
    this.domains = new Set(domains);
    this.settings = settings;
    this.command.abort();
    this.server.maxConnections = settings.connections;
    this.server.on('connection', (socket) => {
      socket.on('error', () => {});
      if (this.command.signal.aborted) return void socket.destroy();
      this.sockets.add(socket);
      socket.on('close', () => this.sockets.delete(socket));
    });
    this.server.on('request', (_request, response) => {
      response.writeHead(403, { 'content-type': 'text/plain', connection: 'close' }).end(`${ONLY_TLS}\n`);
    });
    this.server.on('clientError', (_error, socket) => void socket.destroy());
    this.server.on('connect', ({ url = '' }, socket, head) => {
      // The cast: the server listens on a socket.
      const inner = socket as Socket;
      this.tunnel(url, inner, head).catch(() => inner.destroy());
    });
  }

  /** A command begins, with all the bytes that it may use. */
  begin(): void {
    this.used = 0;
    this.command = new AbortController();
  }

  /** Ends all that the command has left open. */
  end(): void {
    this.command.abort();
    for (const socket of this.sockets) socket.destroy();
  }

  async close(): Promise<void> {
    this.end();
    this.server.close();
    await rm(this.folder, { recursive: true, force: true });
  }

  private async tunnel(authority: string, inner: Socket, head: Buffer): Promise<void> {
    inner.setTimeout(BEGIN_MS, () => inner.destroy());
    const [, name = ''] = AUTHORITY.exec(authority) ?? [];
    const domain = name.toLowerCase();
    if (!this.domains.has(domain)) return refuse(inner, '403 Forbidden', NOT_LISTED);
    let url: URL;
    try {
      url = this.settings.guard.check(authority);
    } catch {
      return refuse(inner, '403 Forbidden', NOT_OPEN);
    }
    const signal = AbortSignal.any([this.command.signal, AbortSignal.timeout(BEGIN_MS)]);
    const outer = await this.settings.guard.open(url, signal).catch(() => undefined);
    if (!outer) return refuse(inner, '502 Bad Gateway', UNREACHABLE);
    inner.once('close', () => outer.destroy());
    outer.on('error', () => inner.destroy());
    if (inner.destroyed) return void outer.destroy();
    inner.write('HTTP/1.1 200 Connection Established\r\n\r\n');
    const hello = await readHello(inner, head);
    // Another name would lead to another host that has the same address.
    if (!hello || helloName(hello) !== domain) return void inner.destroy();
    inner.setTimeout(IDLE_MS);
    this.used += hello.length;
    outer.write(hello);
    const end = () => {};
    pipeline(inner, this.meter(), outer, end);
    pipeline(outer, this.meter(), inner, end);
  }

  /** Breaks off where the command has used up its bytes. */
  private meter(): Transform {
    return new Transform({
      transform: (chunk, _encoding, done) => {
        this.used += chunk.length;
        const isOver = this.used > this.settings.bytes;
        done(isOver ? new Error('The command has used up its bytes.') : null, isOver ? undefined : chunk);
      },
    });
  }
}

function refuse(socket: Socket, status: string, reason: string): void {
  const head = `HTTP/1.1 ${status}\r\ncontent-type: text/plain\r\ncontent-length: ${reason.length + 1}\r\nconnection: close\r\n\r\n`;
  socket.end(`${head}${reason}\n`, () => socket.destroy());
}

/** The first record of TLS and what came with it; undefined where they are no TLS, or the connection ends. */
function readHello(socket: Socket, head: Buffer): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    const parts: Buffer[] = [];
    let length = 0;
    let needed = HELLO_HEADER_BYTES;
    const finish = (hello: Buffer | undefined) => {
      socket.off('data', take).off('end', fail).off('close', fail).pause();
      resolve(hello);
    };
    const fail = () => finish(undefined);
    const take = (part: Buffer) => {
      parts.push(part);
      length += part.length;
      // Joined twice at most: for the header, and for the record.
      if (length < needed) return;
      const bytes = Buffer.concat(parts);
      const wanted = helloBytes(bytes);
      if (wanted === undefined) return fail();
      if (length >= wanted) return finish(bytes);
      needed = wanted;
    };
    socket.on('data', take).on('end', fail).on('close', fail);
    take(head);
  });
}
