/** What the endpoints of vector stores need of the host. */

import type { GuardSettings } from '../../engine/guarding/guard/settings.ts';
import type { VectorStores } from '../../engine/indexing/vector-stores.ts';
import type { Limits } from '../../ports/limits.ts';
import type { EndpointSettings } from '../endpoint/endpoint.ts';
import type { VectorStoreLimits } from './limits.ts';

/** The host's options that vector stores need. */
export interface VectorStoresApiSettings extends EndpointSettings {
  readonly vectorStores: VectorStores;
  readonly limits: Limits;
  readonly storeLimits: VectorStoreLimits;
  /** What inspects queries, which the embeddings server receives; undefined if nothing does. */
  readonly guards: GuardSettings | undefined;
}
