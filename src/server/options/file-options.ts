/** The files that requests may name, and how they are read. */

import type { FileFetcher } from '../../ports/files/file-fetcher.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { TextReader } from '../../ports/files/text-reader.ts';

/** Where the files of requests come from; `undefined` means omitted. */
export interface FileOptions {
  /**
   * Where the files that requests name by `file_id` are kept: the same as for `filesRouter`. Default: such requests are
   * refused.
   */
  readonly files?: FileStore | undefined;
  /**
   * Reads the text of the documents in requests, such as PDFs, for models whose servers take no files: `documentText()`
   * makes one. Default: none, and documents that are no text reach the model server as they are.
   */
  readonly documents?: TextReader | undefined;
  /**
   * Fetches the files that requests name by `file_url`, such as an `egressGuard()` for hosts that you allow. Default: none;
   * model servers that fetch files themselves receive the URL, and for others such requests are refused.
   */
  readonly fileFetcher?: FileFetcher | undefined;
}
