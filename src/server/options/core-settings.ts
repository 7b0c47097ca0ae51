/** The options that all routers and adapters share, checked once, with every default filled in. */

import { stateSealer } from '../../apis/endpoint/provider-state.ts';
import { type MultiAgentSettings, multiAgentSettings } from '../../engine/agents/settings.ts';
import { type CompactionSettings, compactionSettings } from '../../engine/compaction/settings.ts';
import { type GuardSettings, guardSettings } from '../../engine/guarding/guard/settings.ts';
import { type Activity, activity } from '../../engine/request/activity.ts';
import { tokenCounting } from '../../engine/tokens/settings.ts';
import { checkSecret, processSecret, type Sealer } from '../../ports/sealer.ts';
import type { ResponseStore } from '../../ports/store.ts';
import { type ApprovalPolicy, hostTools, type ToolProvider, type ToolsOf } from '../../ports/tool-provider.ts';
import type { Upstream } from '../../ports/upstream.ts';
import { createSchema } from '../../protocol/responses/schema.ts';
import { chatCompletionsUpstream } from '../../upstreams/chat-completions/chat-completions-upstream.ts';
import { type BackgroundSettings, backgroundSettings } from './background-options.ts';
import { limitSettings } from './limit-options.ts';
import type { AnyCoreOptions } from './options.ts';
import { type PlainSettings, plainSettings } from './plain-api.ts';
import { type PresentationSettings, presentationSettings } from './presentation.ts';
import { promptSource } from './prompt-source.ts';
import { settingsStore } from './settings-store.ts';

/** The settings of a router. Those that may be undefined are absent features. */
export interface CoreSettings
  extends PresentationSettings,
    BackgroundSettings,
    Omit<PlainSettings, 'dialectOf' | 'envelopeOf'>,
    Pick<AnyCoreOptions, 'remoteMcp' | 'budget'>,
    Required<Pick<AnyCoreOptions, 'files' | 'documents' | 'fileFetcher' | 'webhooks'>> {
  readonly toolsOf: ToolsOf;
  readonly approval?: ApprovalPolicy | undefined;
  readonly offeredTools: 'all' | 'allowed';
  readonly guards: GuardSettings | undefined;
  readonly upstream: Upstream;
  readonly store: ResponseStore;
  /** The turns that run, whichever API or connection began them: one set of places for all that share these settings. */
  readonly turns: Activity;
  readonly onStoreError: 'fail' | 'continue';
  readonly stateSealer: Sealer;
  readonly multiAgent: MultiAgentSettings | undefined;
  readonly compaction: CompactionSettings;
  readonly tokenCounting: ReturnType<typeof tokenCounting>;
  readonly countTokens: CoreSettings['tokenCounting']['upperCount'];
  readonly prompts: ReturnType<typeof promptSource>;
  /** The tools of every request; undefined if the host chooses them by request. */
  readonly providers: readonly ToolProvider[] | undefined;
  /** Whether the store receives what the client wants unstored: a connection keeps it for itself. */
  readonly keepsUnstored?: boolean;
}

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function coreSettings(owner: string, options: AnyCoreOptions): CoreSettings {
  return { ...preparationSettings(owner, options), upstream: options.upstream ?? chatCompletionsUpstream() };
}

/** The same for an endpoint that calls no model server itself. */
export function preparationSettings(owner: string, options: AnyCoreOptions): Omit<CoreSettings, 'upstream'> {
  const { hooks = {} } = options;
  // Made here, or the first request would wait until zod is loaded.
  createSchema();
  const limits = limitSettings(owner, options.limits);
  const plain = plainSettings(owner, { hooks, logger: options.logger });
  const background = backgroundSettings(owner, options);
  const presentation = presentationSettings(owner, options);

  const counting = tokenCounting(options.countTokens);
  const secret = options.secret === undefined ? processSecret() : checkSecret(`${owner}: secret`, options.secret);
  return {
    ...plain,
    ...presentation,
    ...background,
    store: settingsStore(options.store, limits.storeTimeoutMs, plain.recorder.health.store),
    files: options.files,
    documents: options.documents,
    fileFetcher: options.fileFetcher,
    ...hostTools(options.tools),
    remoteMcp: options.remoteMcp,
    // The cast: the request is the host's own, as its function expects it.
    approval: options.approval as ApprovalPolicy | undefined,
    offeredTools: options.offeredTools ?? 'all',
    guards: guardSettings(`${owner}: guards`, options.guards),
    limits,
    turns: activity(limits),
    onStoreError: options.onStoreError ?? 'fail',
    stateSealer: stateSealer(secret),
    webhooks: options.webhooks,
    multiAgent: multiAgentSettings(`${owner}: multiAgent`, options.multiAgent),
    compaction: compactionSettings(`${owner}: compaction`, options.compaction, secret),
    countTokens: counting.upperCount,
    tokenCounting: counting,
    prompts: promptSource(owner, options.prompts),
    budget: options.budget,
  };
}
