/** What batches need of the host's options. */

import type { BackgroundEngine } from '../../ports/background/background-engine.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { Limits } from '../../ports/limits.ts';
import type { Sealer } from '../../ports/sealer.ts';
import type { InnerRequest } from '../endpoint/api.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { BatchStore } from './batch-records.ts';
import type { BatchLimits } from './limits.ts';

/** A request of one line. */
export interface LineRequest extends InnerRequest {
  /** Below the API's mount point, such as `/responses`. */
  readonly path: string;
}

/** The answer to a line. */
export interface LineReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** The APIs that answer lines. */
export interface LineApis {
  /** Whether one of them has this path. */
  serves(path: string): boolean;
  /** Rejects with an `ApiError` if the answer is longer than `maxBytes`, and with the signal's reason. */
  answer(request: LineRequest, maxBytes: number): Promise<LineReply>;
}

/** Tells the owner of a batch that it has ended. */
interface BatchEvents {
  /** Resolves once the event is kept; the same event may be published again. */
  publish(event: { readonly scope: string; readonly subject: string; readonly type: string }): Promise<void>;
}

/** The host's options that batches need. */
export interface BatchesSettings extends EndpointSettings {
  readonly files: FileStore;
  readonly store: BatchStore;
  readonly engine: BackgroundEngine;
  readonly apis: LineApis;
  readonly sealer: Sealer;
  readonly webhooks: BatchEvents | undefined;
  readonly limits: Limits;
  readonly batchLimits: BatchLimits;
}
