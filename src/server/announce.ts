/** Announces a router in the host's log when its first request arrives: what it serves with, and no secret of it. */

import { VERSION } from '../protocol/version.ts';
import type { CoreSettings } from './options.ts';
import { toolServersOf } from './tool-servers.ts';

/** Returns a function that announces the router at its first call. */
export function announcer(settings: CoreSettings): () => void {
  let isAnnounced = false;
  return () => {
    if (isAnnounced) return;
    isAnnounced = true;
    settings.recorder.announce('express-open-responses serves its first request.', factsOf(settings));
  };
}

function factsOf({ upstream, store, providers, owner }: CoreSettings) {
  return {
    version: VERSION,
    router: owner,
    upstream: upstream.name,
    origin: upstream.origin ?? null,
    store: store.name,
    toolProviders: providers?.length ?? 'by request',
    mcpServers: providers ? toolServersOf(providers).length : 'by request',
  };
}
