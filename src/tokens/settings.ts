/** The option `tokens`, checked. */
import { checkOptions } from '../ports/host/options-check.ts';
import type { TokenCounter } from '../ports/token-counter.ts';
import { untilAborted } from '../streams/until-aborted.ts';
import { tokenCounter } from './count.ts';
import { type TextCounter, tokensOf } from './tokenizer.ts';

/** How tokens are counted before a model server has counted them. */
export interface TokenOptions {
  /**
   * Counts the tokens of a text, for a model whose tokenizer the host has. Default: `js-tiktoken` if installed, else
   * characters / 4.
   */
  readonly count?: TextCounter | undefined;
}

/** The counter; throws a `TypeError` for a bad option. */
export function tokenSettings(owner: string, options: TokenOptions = {}): TokenCounter {
  checkOptions(owner, options, { count: (value) => typeof value === 'function' || 'a function' });
  const { count } = options;
  if (!count) return tokenCounter((text, _, signal) => tokensOf(text, signal));
  return tokenCounter((text, model, signal) => untilAborted(signal, () => count(text, model)));
}
