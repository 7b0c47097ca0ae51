/** The text of the files of one request, for models whose servers take no files. */
import type { TextReader } from '../../ports/files/text-reader.ts';
import type { Limits } from '../../ports/limits.ts';
import { ApiError } from '../../protocol/errors.ts';
import { decodeFileData } from '../../protocol/file-data.ts';
import { visibleText } from '../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { imageType, readPlainText } from './upload-parts.ts';
import { MAX_FILES, requestTooLarge, type Upload } from './upload-reader.ts';

/** An uploaded file, or one that the request itself contains. */
type Readable = Pick<Upload, 'content'> & { readonly file: Pick<Upload['file'], 'filename' | 'contentType' | 'bytes'> };

/** The texts of one request, within one limit. */
export class InlineTexts {
  private readonly reader: TextReader | undefined;
  private readonly scope: string;
  private readonly signal: AbortSignal;
  private readonly limit: number;
  private readonly cache = new Map<Readable, string | undefined>();
  private characters = 0;
  private documents = 0;

  constructor(
    reader: TextReader | undefined,
    { scope, signal }: { readonly scope: string; readonly signal: AbortSignal },
    { inputFileBytes }: Limits,
  ) {
    this.reader = reader;
    this.scope = scope;
    this.signal = signal;
    this.limit = inputFileBytes;
  }

  /**
   * The text of the file below its name; undefined if it has no text that can be read. Throws `invalid_file`, `file_too_large`,
   * `too_many_documents` and `request_too_large`.
   */
  async of(file: Readable, param: string): Promise<string | undefined> {
    const text = readPlainText(file) ?? (await this.read(file, param));
    return text === undefined ? undefined : `[The file '${visibleText(file.file.filename)}':]\n\n${text}`;
  }

  /** The same for a file that the part contains; undefined without a reader of documents. */
  async ofPart(part: JsonObject, param: string): Promise<string | undefined> {
    if (!this.reader || !isDocumentPart(part)) return undefined;
    const filename = typeof part.filename === 'string' && part.filename !== '' ? part.filename : 'file';
    const content = decodeFileData(part.file_data);
    const contentType = /^data:([\w.+-]{1,60}\/[\w.+-]{1,100})[;,]/.exec(part.file_data)?.[1];
    return this.of({ file: { filename, contentType, bytes: content.length }, content }, param);
  }

  private async read(file: Readable, param: string): Promise<string | undefined> {
    if (!this.reader || imageType(file)) return undefined;
    if (!this.cache.has(file)) this.cache.set(file, await this.readDocument(this.reader, file, param));
    const text = this.cache.get(file);
    this.characters += text?.length ?? 0;
    if (this.characters > this.limit)
      throw requestTooLarge(`its documents have more than ${this.limit} characters together`, param);
    return text;
  }

  private async readDocument(
    reader: TextReader,
    { file, content }: Readable,
    param: string,
  ): Promise<string | undefined> {
    this.documents += 1;
    if (this.documents > MAX_FILES) throw requestTooLarge(`it has more than ${MAX_FILES} documents`, param);
    async function* bytes(): AsyncIterable<Uint8Array> {
      yield content;
    }
    const document = { ...file, scope: this.scope, content: async () => bytes() };
    try {
      const text = await reader.read(document, this.signal);
      return text.trim() === '' ? '(The file has no text.)' : text;
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      if (error.code === 'unsupported_file') return undefined;
      const { code, message, headers } = error;
      throw new ApiError(code, message, { param, headers, cause: error });
    }
  }
}

/** Whether the part holds a file. */
export function isDocumentPart(part: unknown): part is JsonObject & { readonly file_data: string } {
  return isRecord(part) && part.type === 'input_file' && typeof part.file_data === 'string' && part.file_data !== '';
}
