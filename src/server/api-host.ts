/** What the APIs besides those of models share: with them in `openResponses`, or with none in a router of their own. */
import { openai } from '../apis/dialects/dialects.ts';
import type { ApiHost } from '../apis/endpoint/api.ts';
import type { ResponseStore } from '../ports/store.ts';
import { inProcessEngine } from '../stores/queues/in-process/in-process-engine.ts';
import type { PlainSettings } from './options/plain-api.ts';
import { settingsStore } from './options/settings-store.ts';

/** What differs between hosts; `store` is as requests see it. */
interface HostParts
  extends Pick<ApiHost, 'forgetFile' | 'endpointAt' | 'secret' | 'webhooks' | 'toolsOf' | 'approval' | 'guards'> {
  readonly store: ResponseStore | undefined;
}

/** The host of APIs over these settings. */
export function apiHost(settings: Omit<PlainSettings, 'dialectOf'>, { store, ...parts }: HostParts): ApiHost {
  const { hooks, limits, recorder } = settings;
  return {
    ...parts,
    hooks,
    limits,
    dialectOf: () => openai,
    storeFor: (own) => (!own && store) || settingsStore(own, limits.storeTimeoutMs, recorder.health.store),
    processEngine: inProcessEngine,
  };
}
