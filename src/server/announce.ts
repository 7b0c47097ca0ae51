/** Announces a router in the host's log when its first request arrives: what it serves with, and no secret of it. */

import { CREDENTIAL_HEADERS } from '../ports/scope.ts';
import { VERSION } from '../protocol/version.ts';
import type { CoreSettings } from './options/core-settings.ts';
import { toolServers } from './tool-servers.ts';

/** Returns a function that announces the router at its first call; `scope` is the host's, if it has set one. */
export function announcer(settings: CoreSettings, scope: unknown): () => void {
  let isAnnounced = false;
  return () => {
    if (isAnnounced) return;
    isAnnounced = true;
    const { upstream, store, providers, owner, recorder } = settings;
    recorder.announce('express-open-responses serves its first request.', {
      version: VERSION,
      router: owner,
      upstream: upstream.name,
      origin: upstream.origin ?? null,
      store: store.name,
      tenantBy: scope === undefined ? CREDENTIAL_HEADERS : 'scope',
      toolProviders: providers?.length ?? 'by request',
      mcpServers: providers ? toolServers(providers).length : 'by request',
    });
  };
}
