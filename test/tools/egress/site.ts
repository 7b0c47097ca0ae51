/** Real servers on loopback that count who connects, a certificate for them, and a record of every connection attempted. */
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A key and the certificate that it signed itself; both are gone with the test. */
export interface Certificate {
  readonly key: string;
  readonly cert: string;
}

/** Makes a certificate for the names; undefined where there is no `openssl` to make it. */
export function certificateFor(names: readonly string[]): Certificate | undefined {
  const folder = mkdtempSync(join(tmpdir(), 'egress-'));
  const [keyFile, certFile] = [join(folder, 'key.pem'), join(folder, 'cert.pem')];
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', keyFile];
  const subject = ['-subj', '/CN=test', '-addext', `subjectAltName=${names.join(',')}`];
  try {
    execFileSync('openssl', ['req', '-x509', ...newKey, ...subject, '-days', '1', '-out', certFile], {
      stdio: 'ignore',
    });
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') };
  } catch {
    return undefined;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** One request as a site saw it. */
export interface SeenRequest {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly host: string | undefined;
  /** The name that the TLS greeting asked for. */
  readonly servername: string | false | null | undefined;
  readonly headers: Readonly<Record<string, unknown>>;
}

/** A running server. */
export interface Site {
  readonly port: number;
  readonly requests: readonly SeenRequest[];
  /** How many connections came in so far. */
  readonly connections: number;
  close(): Promise<void>;
}

/** Starts a server on 127.0.0.1; with a certificate it speaks TLS. */
export async function startSite(answer: RequestListener, certificate?: Certificate): Promise<Site> {
  const requests: SeenRequest[] = [];
  let connections = 0;
  const listener: RequestListener = (req, res) => {
    const { servername } = req.socket as { servername?: string | false | null };
    requests.push({ method: req.method, url: req.url, host: req.headers.host, servername, headers: req.headers });
    answer(req, res);
  };
  const server: Server = certificate ? createTlsServer(certificate, listener) : createServer(listener);
  server.on('connection', () => {
    connections += 1;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    requests,
    get connections() {
      return connections;
    },
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

/** The addresses that this process tried to connect to. */
export interface ConnectionWatch {
  readonly attempts: readonly string[];
  stop(): void;
}

/** Records every connection attempt of this process, whether anybody listens there or not. */
export function watchConnections(): ConnectionWatch {
  const attempts: string[] = [];
  const { connect } = Socket.prototype;
  // Not the channel `net.client.socket`, which does not receive sockets for TLS.
  Socket.prototype.connect = function watchedConnect(...args: unknown[]) {
    this.on('connectionAttempt', (address: string) => attempts.push(address));
    // The cast: all overloads take what they are given.
    return connect.apply(this, args as Parameters<typeof connect>);
  };
  const stop = () => {
    Socket.prototype.connect = connect;
  };
  return { attempts, stop };
}

/** What the promise was rejected with; a promise that was not is a fault of its own. */
export async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => new Error('nothing was refused'),
    (error: unknown) => error,
  );
}
