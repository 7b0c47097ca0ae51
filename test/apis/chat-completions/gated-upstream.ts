/** A model server that waits: its answers go on when the test says so, so that no test has to sleep. */
import { listening } from '../../support/listening.ts';

/** What is written, and what is waited for before the next piece is. */
export type Script = Iterable<string | Promise<unknown>>;

/** A running server. */
export interface GatedUpstream {
  readonly baseURL: string;
  /** Kept when a client leaves before its answer is whole. */
  readonly left: Promise<void>;
  close(): Promise<void>;
}

/** Plays one script for each request, in order, as an event stream. */
export async function startGatedUpstream(...scripts: readonly Script[]): Promise<GatedUpstream> {
  let leave = () => {};
  const left = new Promise<void>((resolve) => {
    leave = resolve;
  });
  let requests = 0;
  const { url, close } = await listening(async (request, response) => {
    const script = scripts[requests++] ?? [];
    request.resume();
    response.once('close', () => response.writableFinished || leave());
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    for (const piece of script) {
      if (typeof piece === 'string') response.write(piece);
      else await piece;
    }
    response.end();
  });
  return { baseURL: `${url}/v1`, left, close };
}
