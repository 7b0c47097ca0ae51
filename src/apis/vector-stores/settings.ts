/** What the endpoints of vector stores need of the host. */
import type { EndpointSettings } from '../../ports/endpoints/endpoint.ts';
import type { Limits } from '../../ports/limits.ts';
import type { VectorStores } from '../../vectors/vector-stores.ts';
import type { VectorStoreLimits } from './limits.ts';

/** The host's options that vector stores need. */
export interface VectorStoresApiSettings extends EndpointSettings {
  readonly vectorStores: VectorStores;
  readonly limits: Limits;
  readonly storeLimits: VectorStoreLimits;
}
