/** A careless host: a file, a program and servers that everybody may read, run and reach, and what tells whether anybody did. */
import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { OuterBait } from './sandbox-outer-attempts.ts';

/** The bait, while it is there. */
export interface HostBait {
  readonly bait: OuterBait;
  /** What came of it, with a text that an attempt led to. */
  touched(text: string): Touched;
  close(): void;
}

interface Touched {
  /** Whether the text has what only the host can read. */
  readonly isRead: boolean;
  readonly isChanged: boolean;
  /** How many connections and datagrams came. */
  readonly reached: number;
}

export const UNTOUCHED: Touched = { isRead: false, isChanged: false, reached: 0 };

/** Lays it, in the environment, too. */
export async function layBait(): Promise<HostBait> {
  const canary = `canary-${randomUUID()}`;
  const folder = mkdtempSync(join(tmpdir(), 'bait-'));
  const places = { file: join(folder, 'file'), socket: join(folder, 'socket'), program: join(folder, 'program') };
  const abstract = `bait-${randomUUID()}`;
  let reached = 0;
  const [tcp, path, hidden] = ['tcp', 'path', 'abstract'].map(() =>
    createServer((socket) => {
      reached += 1;
      socket.on('error', () => {}).end(canary);
    }),
  ) as [Listener, Listener, Listener];
  const datagrams = createSocket('udp4').on('message', () => {
    reached += 1;
  });
  process.env.CANARY = canary;
  writeFileSync(places.file, canary, { mode: 0o666 });
  writeFileSync(places.program, `#!/bin/sh\necho ${canary}\n`, { mode: 0o777 });
  chmodSync(folder, 0o777);
  tcp.listen(0);
  path.listen({ path: places.socket, readableAll: true, writableAll: true });
  hidden.listen(`\0${abstract}`);
  const servers = [tcp, path, hidden];
  await Promise.all(servers.filter((server) => !server.listening).map((server) => once(server, 'listening')));
  // The cast: it listens on TCP.
  const { port } = tcp.address() as AddressInfo;
  datagrams.bind(port, '127.0.0.1');
  await once(datagrams, 'listening');
  return {
    bait: { ...places, abstract, port, pid: process.pid },
    touched: (text) => ({
      isRead: text.includes(canary),
      isChanged: readFileSync(places.file, 'utf8') !== canary || existsSync(`${places.file}.new`),
      reached,
    }),
    close() {
      delete process.env.CANARY;
      for (const server of servers) server.close();
      datagrams.close();
      rmSync(folder, { recursive: true });
    },
  };
}

type Listener = ReturnType<typeof createServer>;
