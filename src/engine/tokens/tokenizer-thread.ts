/** Counts tokens in a separate thread: loading the encoding takes a second, and texts may be long. */
import { join } from 'node:path';
import type { Worker } from 'node:worker_threads';
import { BUILD_FOLDER } from '../../ports/host/package-files.cjs';
import { processWarning } from '../../ports/host/warner.ts';
import { ApiError } from '../../protocol/errors.ts';

/** A text for the thread; without one, the count is cancelled. */
export interface ToCount {
  readonly id: number;
  readonly text?: string;
}

/** The thread's result. */
export interface Counted {
  readonly id: number;
  readonly tokens: number;
}

/** The thread's first message: whether there is an encoding. */
export interface Ready {
  readonly hasEncoding: boolean;
}

/** How long an idle thread is kept, in milliseconds. */
const IDLE_MS = 60_000;
/** Maximum that may be counted at the same time: texts, and characters in all. */
const MAX_TEXTS = 256;
const MAX_CHARACTERS = 16_000_000;
/** Memory limit of the thread: the encoding takes some 60 MB. */
const MAX_MB = 512;

interface Job {
  readonly characters: number;
  readonly resolve: (tokens: number | undefined) => void;
}

const WORKER = join(BUILD_FOLDER, 'cjs/engine/tokens/tokenizer-worker.js');

/** The thread, started on demand; it keeps the process alive only while it counts. */
export class TokenizerThread {
  private readonly path: string;
  private readonly warn: (message: string) => void;
  private readonly jobs = new Map<number, Job>();
  private starting: Promise<Worker | undefined> | undefined;
  private worker: Worker | undefined;
  private idle: NodeJS.Timeout | undefined;
  private characters = 0;
  private lastId = 0;

  constructor(path = WORKER, warn: (message: string) => void = processWarning) {
    this.path = path;
    this.warn = warn;
  }

  /**
   * The tokens of the text; undefined if no thread can be started, or no encoding is installed. Rejects with the
   * signal's reason, and with `too_many_streams` if too much is being counted already.
   */
  async count(text: string, signal?: AbortSignal): Promise<number | undefined> {
    signal?.throwIfAborted();
    if (this.jobs.size >= MAX_TEXTS || this.characters + text.length > MAX_CHARACTERS)
      throw new ApiError('too_many_streams', 'Too many tokens are being counted. Try again later.');
    this.lastId += 1;
    const id = this.lastId;
    clearTimeout(this.idle);
    let stop = () => {};
    const counted = new Promise<number | undefined>((resolve, reject) => {
      this.jobs.set(id, { characters: text.length, resolve });
      this.characters += text.length;
      stop = () => {
        reject(signal?.reason);
        this.end(id);
        this.starting?.then((worker) => worker?.postMessage({ id } satisfies ToCount));
      };
      signal?.addEventListener('abort', stop, { once: true });
    });
    this.send({ id, text });
    try {
      return await counted;
    } finally {
      signal?.removeEventListener('abort', stop);
    }
  }

  /** Ends the thread; running counts are answered as if there were no thread. */
  async close(): Promise<void> {
    clearTimeout(this.idle);
    const worker = await this.starting;
    if (!worker) return;
    this.lose(worker);
    await worker.terminate();
  }

  private async send(toCount: ToCount): Promise<void> {
    this.starting ??= this.start();
    const worker = await this.starting;
    if (!worker) return this.end(toCount.id);
    if (!this.jobs.has(toCount.id)) return;
    worker.ref();
    worker.postMessage(toCount);
  }

  /** Permanently undefined after a failure: it would fail for each request. */
  private async start(): Promise<Worker | undefined> {
    try {
      // Imported on demand: not every runtime has threads.
      const { Worker } = await import('node:worker_threads');
      const worker = new Worker(this.path, { resourceLimits: { maxOldGenerationSizeMb: MAX_MB } });
      const { hasEncoding } = await this.readiness(worker);
      if (!hasEncoding) return void (await worker.terminate());
      this.worker = worker;
      return worker;
    } catch (error) {
      this.warn(`Tokens are estimated by the length of texts: the tokenizer's thread cannot be started: ${error}`);
      return undefined;
    }
  }

  private readiness(worker: Worker): Promise<Ready> {
    return new Promise((resolve, reject) => {
      worker.on('message', (message: Ready | Counted) => {
        if ('hasEncoding' in message) resolve(message);
        else this.end(message.id, message.tokens);
      });
      const ended = (error: unknown) => {
        reject(error);
        if (worker === this.worker) this.warn(`Tokens were estimated: the tokenizer's thread has ended: ${error}`);
        this.lose(worker);
      };
      worker.on('error', ended).on('exit', ended);
    });
  }

  private end(id: number, tokens?: number): void {
    const job = this.jobs.get(id);
    if (!job) return;
    this.jobs.delete(id);
    this.characters -= job.characters;
    job.resolve(tokens);
    if (this.jobs.size > 0) return;
    this.starting?.then((worker) => this.jobs.size === 0 && worker?.unref());
    clearTimeout(this.idle);
    this.idle = setTimeout(() => void this.close(), IDLE_MS).unref();
  }

  /** A later text starts another thread. */
  private lose(worker: Worker): void {
    if (worker !== this.worker) return;
    this.worker = undefined;
    this.starting = undefined;
    for (const id of [...this.jobs.keys()]) this.end(id);
  }
}
