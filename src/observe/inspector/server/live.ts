/** Notifies open pages of changes by server-sent events; the pages then load their data again. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Ring } from '../recording/ring.ts';

/** Milliseconds between two checks for changes. */
const CHECK_MS = 250;
const HEARTBEAT_MS = 15_000;
/** The most pages that may be open at the same time. */
const MAX_PAGES = 32;

/** The open pages. No timer runs while there are none. */
export class LivePages {
  private readonly ring: Ring;
  private readonly open = new Set<ServerResponse>();
  private timer: NodeJS.Timeout | undefined = undefined;
  private sent = -1;
  private lastSentAt = 0;

  constructor(ring: Ring) {
    this.ring = ring;
  }

  /** Whether there is room for another page. */
  get hasRoom(): boolean {
    return this.open.size < MAX_PAGES;
  }

  /** Keeps the answer open until its client leaves. */
  join(req: IncomingMessage, res: ServerResponse, headers: Readonly<Record<string, string>>): void {
    res.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
    if (req.method === 'HEAD') return void res.end();
    res.write(this.event());
    this.open.add(res);
    res.once('close', () => this.leave(res));
    this.timer ??= setInterval(() => this.notifyPages(), CHECK_MS).unref();
  }

  /** Ends the answers of all open pages. */
  close(): void {
    for (const res of this.open) res.end();
  }

  private leave(res: ServerResponse): void {
    this.open.delete(res);
    if (this.open.size > 0) return;
    clearInterval(this.timer);
    this.timer = undefined;
  }

  private notifyPages(): void {
    this.ring.endAborted();
    const now = Date.now();
    if (this.ring.version === this.sent && now - this.lastSentAt < HEARTBEAT_MS) return;
    const text = this.event();
    this.lastSentAt = now;
    // Skips pages that do not read.
    for (const res of this.open) if (!res.writableNeedDrain) res.write(text);
  }

  private event(): string {
    this.sent = this.ring.version;
    return `data: {"version":${this.sent}}\n\n`;
  }
}
