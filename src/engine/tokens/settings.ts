/** The option `tokens`, checked. */
import { checkOptions } from '../../ports/host/options-check.ts';
import type { TokenCounting } from '../../ports/token-counter.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { calibratedCounter } from './calibration.ts';
import { tokenCounter } from './count.ts';
import { countTextTokens, type TextCounter } from './tokenizer.ts';

/** How tokens are counted before a model server has counted them. */
export interface TokenOptions {
  /**
   * Counts the tokens of a text, for a model whose tokenizer the host has. Default: the model server counts where it
   * can, else `js-tiktoken` if installed, else characters / 4, both calibrated by what the model server has reported.
   */
  readonly count?: TextCounter | undefined;
}

/** How requests are counted; throws a `TypeError` for a bad option. */
export function tokenSettings(owner: string, options: TokenOptions = {}): TokenCounting {
  checkOptions(owner, options, { count: (value) => typeof value === 'function' || 'a function' });
  const { count } = options;
  if (!count) return calibratedCounter(tokenCounter((text, _, signal) => countTextTokens(text, signal)));
  const counter = tokenCounter((text, model, signal) => untilAborted(signal, () => count(text, model)));
  return { count: counter, upperCount: counter, learner: () => undefined, isHosts: true };
}
