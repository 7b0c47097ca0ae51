/** The host's options that the Responses API needs. */

import type { CompactionSettings } from '../../compaction/settings.ts';
import type { EndpointSettings } from '../../ports/endpoints/endpoint.ts';
import type { KeepSettings } from '../../ports/endpoints/keep.ts';
import type { PrepareSettings } from '../../ports/endpoints/prepare.ts';
import type { Presentation } from '../../ports/presentation.ts';
import type { Sealer } from '../../ports/sealer.ts';
import type { TokenCounter } from '../../ports/token-counter.ts';
import type { Upstream } from '../../ports/upstream.ts';

/** The settings of one request to the Responses API. */
export interface ResponsesApiSettings extends Presentation, PrepareSettings, KeepSettings, EndpointSettings {
  readonly upstream: Upstream;
  readonly stateSealer: Sealer;
  readonly compaction: CompactionSettings;
  readonly countTokens: TokenCounter;
  /** Whether the store receives what the client wants unstored: a connection keeps it for itself. */
  readonly keepsUnstored?: boolean;
}
