/** The host's options that the Responses API needs. */

import type { MultiAgentSettings } from '../../../engine/agents/settings.ts';
import type { CompactionSettings } from '../../../engine/compaction/settings.ts';
import type { GuardingSettings } from '../../../engine/guarding/request/guards-of.ts';
import type { BudgetSettings } from '../../../engine/metering/budgeted.ts';
import type { StoreWriteSettings } from '../../../engine/request/keep.ts';
import type { Presentation } from '../../../ports/dialect.ts';
import type { Reports } from '../../../ports/hooks.ts';
import type { Sealer } from '../../../ports/sealer.ts';
import type { TokenCounting } from '../../../ports/token-counter.ts';
import type { EndpointSettings } from '../../endpoint/endpoint.ts';
import type { PrepareSettings } from '../../endpoint/prepare.ts';

/** The settings of one request to the Responses API. */
export interface ResponsesApiSettings
  extends Presentation,
    PrepareSettings,
    StoreWriteSettings,
    EndpointSettings,
    BudgetSettings,
    GuardingSettings {
  readonly hooks: Reports;
  readonly stateSealer: Sealer;
  readonly compaction: CompactionSettings;
  readonly tokenCounting: TokenCounting;
  /** Undefined if requests have one agent only. */
  readonly multiAgent?: MultiAgentSettings | undefined;
  /** Whether the store receives what the client wants unstored: a connection keeps it for itself. */
  readonly keepsUnstored?: boolean;
}
