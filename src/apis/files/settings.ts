/** What the Files API needs of the host's options. */

import type { FileStore } from '../../ports/files/file-store.ts';
import type { ResponseKey } from '../../ports/store.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { FormParser } from '../endpoint/forms/multipart.ts';
import type { FileLimits } from './limits.ts';

/** The host's options that the Files API needs. */
export interface FilesSettings extends EndpointSettings {
  readonly files: FileStore;
  readonly fileLimits: FileLimits;
  readonly formParser: FormParser;
  /** Removes a deleted file from what was made of it. */
  readonly forgetFile: (key: ResponseKey) => Promise<void>;
}
