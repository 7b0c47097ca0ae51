/** Receives a form with a file, or with several, which are stored while they arrive. */
import type { Readable } from 'node:stream';
import { ApiError } from '../../../protocol/errors.ts';
import { quoteId } from '../../../protocol/ids.ts';
import type { FormLimits } from './form-limits.ts';
import { type Busboy, fileTooLarge, malformed, maxFormBytes, PIECE_BYTES } from './multipart.ts';

/** The file of a form. */
export interface IncomingFile {
  /** Without folders; empty if the client names none. */
  readonly filename: string;
  readonly contentType: string;
  /** Ends once the whole form has been read; throws if it breaks off or is refused. */
  readonly content: AsyncIterable<Uint8Array>;
  /** The other fields, those behind the file included once `content` has ended. */
  readonly fields: ReadonlyMap<string, string>;
}

/** The name of the part that holds the file; several files have that name with `[]`, too, as SDKs write lists. */
type FilePart = 'file' | 'data' | 'files';

/** Stores the file. */
type StoreFile<Result> = (file: IncomingFile) => Promise<Result>;

/** How a form is read. */
interface FormTerms<Result> {
  /** The name of the part with the file. Default: `file`. */
  readonly part?: FilePart;
  readonly signal: AbortSignal;
  /** Answers a form without a file by its fields. Default: it is refused. */
  readonly withoutFile?: ((fields: ReadonlyMap<string, string>) => Promise<Result>) | undefined;
}

/**
 * Reads the form and resolves with what `store` returns for its file. Whatever fails, it rejects with the first failure,
 * and only after `store` has ended too, so that nothing is left behind. A signal that is aborted ends it with its reason. Throws `ApiError` for what the client did.
 */
export async function receiveForm<Result>(
  bytes: AsyncIterable<Uint8Array>,
  parser: Busboy,
  limits: FormLimits,
  store: StoreFile<Result>,
  terms: FormTerms<Result>,
): Promise<Result> {
  const [result] = await receiveFiles(bytes, parser, limits, store, terms);
  // The cast: there is at least one, and `undefined` may be what was returned for it.
  return result as Result;
}

/** The same for a form whose parser takes several files: what `store` returns for each of them, of which there is at least one. */
export function receiveFiles<Result>(
  bytes: AsyncIterable<Uint8Array>,
  parser: Busboy,
  limits: FormLimits,
  store: StoreFile<Result>,
  { part = 'file', signal, withoutFile }: FormTerms<Result>,
): Promise<readonly Result[]> {
  return new UploadForm(parser, limits, store, { part, withoutFile }).receive(bytes, signal);
}

/** The body of a request that has none. */
export const NO_BYTES: AsyncIterable<Uint8Array> = { [Symbol.asyncIterator]: () => ({ next: async () => DONE }) };
const DONE = { done: true, value: undefined } as const;

class UploadForm<Result> {
  private readonly parser: Busboy;
  private readonly limits: FormLimits;
  private readonly store: StoreFile<Result>;
  private readonly part: FilePart;
  private readonly withoutFile: FormTerms<Result>['withoutFile'];
  private readonly fields = new Map<string, string>();
  private readonly idle: NodeJS.Timeout;
  private readonly parsed: Promise<void>;
  private finish: () => void = () => {};
  private refuse: (error: unknown) => void = () => {};
  /** Continues to read the body once the parser has taken the last piece. */
  private goOn: () => void = () => {};
  private isWriting = false;
  /** Whether the client has sent the whole body. */
  private isSent = false;
  private hasFailed = false;
  /** Of the file that arrives now, or arrived last. */
  private stream: Readable | undefined;
  private readonly storing: Promise<Result>[] = [];

  constructor(
    parser: Busboy,
    limits: FormLimits,
    store: StoreFile<Result>,
    { part, withoutFile }: { readonly part: FilePart } & Pick<FormTerms<Result>, 'withoutFile'>,
  ) {
    this.parser = parser;
    this.part = part;
    this.withoutFile = withoutFile;
    this.limits = limits;
    this.store = store;
    this.parsed = new Promise((resolve, reject) => {
      this.finish = resolve;
      this.refuse = reject;
    });
    this.idle = setTimeout(() => this.timeOut(), limits.idleTimeoutMs);
    this.listen();
  }

  async receive(bytes: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<readonly Result[]> {
    const stop = () => this.fail(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    this.feed(bytes).catch((error) => this.fail(error));
    try {
      await this.parsed;
      if (this.storing.length === 0 && this.withoutFile) return [await this.withoutFile(this.fields)];
      if (this.storing.length === 0) {
        const message = `Missing required parameter: '${this.part}'.`;
        throw new ApiError('missing_required_parameter', message, { param: this.part });
      }
      return await Promise.all(this.storing);
    } catch (error) {
      // Waits until the store has removed what it wrote.
      await Promise.allSettled(this.storing);
      throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      clearTimeout(this.idle);
    }
  }

  private listen(): void {
    const files = this.part === 'files' ? 'each of them a file or a field' : 'and one file';
    const tooMany = () => this.fail(malformed(`A form may have ${this.limits.parts} parts, ${files}.`));
    this.parser
      .on('file', (name, stream, filename, encoding, type) => this.onFile(name, stream, { filename, encoding, type }))
      .on('field', (name, value, _, isCut) => this.onField(name, value, isCut))
      .on('partsLimit', tooMany)
      .on('filesLimit', tooMany)
      .on('finish', () => this.finish())
      .on('error', (error) => this.fail(malformed('It is not complete.', error)));
  }

  private onFile(name: unknown, stream: Readable, { filename, encoding, type }: PartHeaders): void {
    // The reader receives the error; an error event without a listener would end the process.
    stream.on('error', () => {});
    this.stream = stream;
    if (this.hasFailed) return void stream.destroy();
    if (name !== this.part && !(this.part === 'files' && name === 'files[]')) {
      const message = `The file must be in the part '${this.part}', not in ${quoteId(name)}.`;
      return this.fail(new ApiError('invalid_value', message, { param: this.part }));
    }
    if (!PLAIN_ENCODINGS.has(encoding))
      return this.fail(malformed(`Its part '${this.part}' is encoded, as few servers read.`));
    const content = this.fileContent(stream);
    const stored = this.store({ filename: filename ?? '', contentType: type, content, fields: this.fields });
    stored.catch((error) => this.fail(error));
    this.storing.push(stored);
  }

  private onField(name: unknown, value: string, isCut: boolean): void {
    const field = String(name);
    if (isCut) {
      const message = `The field ${quoteId(field)} has more than ${this.limits.fieldBytes} bytes.`;
      return this.fail(new ApiError('string_above_max_length', message, { param: field.slice(0, 100) }));
    }
    if (field === this.part) return this.fail(malformed(`Its part '${field}' has no file name, so it is not a file.`));
    if (this.fields.has(field)) return this.fail(malformed(`Its field ${quoteId(field)} is there twice.`));
    this.fields.set(field, value);
  }

  private async *fileContent(stream: Readable): AsyncIterable<Uint8Array> {
    let length = 0;
    for await (const piece of stream) {
      length += piece.length;
      if (length > this.limits.fileBytes) throw fileTooLarge(this.limits, this.part === 'files' ? this.part : 'file');
      yield piece;
    }
    await this.parsed;
  }

  private async feed(bytes: AsyncIterable<Uint8Array>): Promise<void> {
    let length = 0;
    for await (const piece of withAbortError(bytes)) {
      if (this.hasFailed) return;
      length += piece.byteLength;
      if (length > maxFormBytes(this.limits))
        throw fileTooLarge(this.limits, this.part === 'files' ? this.part : 'file');
      // A parser whose form has failed may never take another piece, and what is read no further holds the connection.
      for (let at = 0; at < piece.byteLength && !this.hasFailed; at += PIECE_BYTES)
        await this.write(piece.subarray(at, at + PIECE_BYTES));
      this.idle.refresh();
    }
    this.isSent = true;
    if (!this.hasFailed) this.parser.end();
  }

  /** Resolves once the parser wants more, or the form has failed. */
  private async write(piece: Uint8Array): Promise<void> {
    this.isWriting = true;
    await new Promise<void>((resolve) => {
      this.goOn = resolve;
      this.parser.write(piece, () => resolve());
    });
    this.isWriting = false;
  }

  private timeOut(): void {
    if (this.isStoreBusy()) return void this.idle.refresh();
    this.fail(new ApiError('upload_timeout', 'The upload timed out: the client sent no data for too long.'));
  }

  /** Whether the client waits for the store, which has not read all of the file that has arrived. */
  private isStoreBusy(): boolean {
    if (!this.stream) return false;
    return this.isSent ? !this.stream.readableEnded : this.isWriting && this.stream.readableLength > 0;
  }

  private fail(error: unknown): void {
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.refuse(error);
    this.stream?.destroy(error as Error);
    this.goOn();
  }
}

interface PartHeaders {
  readonly filename: string | undefined;
  readonly encoding: string;
  readonly type: string;
}

/** The encodings that leave the bytes unchanged; RFC 7578 allows no others. */
const PLAIN_ENCODINGS: ReadonlySet<string> = new Set(['7bit', '8bit', 'binary']);

async function* withAbortError(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* bytes;
  } catch (cause) {
    throw new ApiError('request_aborted', 'The request was aborted.', { cause });
  }
}
