/** How tokens are counted before a model server has counted them, as the option `countTokens` says. */
import { checkTokens, type TokenCounting } from '../../ports/token-counter.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import { calibratedCounter } from './calibration.ts';
import { tokenCounter } from './count.ts';
import { countTextTokens, type TextCounter } from './tokenizer.ts';

/** How requests are counted: as the host counts texts, or by the estimate. */
export function tokenCounting(count: TextCounter | undefined): TokenCounting {
  if (!count) return calibratedCounter(tokenCounter((text, _, signal) => countTextTokens(text, signal)));
  const counter = tokenCounter(async (text, model, signal) =>
    checkTokens('countTokens', await untilAborted(signal, () => count(text, model))),
  );
  return { count: counter, upperCount: counter, learner: () => undefined, isHosts: true };
}
