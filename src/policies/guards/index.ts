/** Guards: they inspect the texts of requests, answers and tool calls, and replace or block parts of them. */

export type {
  Guard,
  GuardDirection,
  GuardFinding,
  GuardMode,
  GuardScan,
  GuardSubject,
  GuardVerdict,
} from '../../ports/guard.ts';
export { allowUrls } from './allow-urls.ts';
export { type PiiKind, type PiiOptions, pii } from './pii/pii.ts';
export { type ModerationOptions, moderation } from './services/moderation.ts';
export { type PresidioOptions, presidio } from './services/presidio.ts';
export type { GuardSettingsOptions } from './shared/guard-options.ts';
