/** Finds personal data and keys by their form, on this machine. */
import type { Guard, GuardFinding, GuardScan } from '../../../ports/guard.ts';
import { boolean, checkOptions, type OptionCheck } from '../../../ports/host/options-check.ts';
import { mapMaybePromise } from '../../../protocol/record.ts';
import { GUARD_CHECKS, type GuardSettingsOptions } from '../shared/guard-options.ts';
import { scanWhole } from '../shared/scan-whole.ts';
import { emailRule } from './email.ts';
import { keyRule } from './keys.ts';
import { cardAt, ibanAt, phoneAt } from './numbers.ts';
import { MORE, type Rule } from './rule.ts';

/** A kind of value that `pii` finds. */
export type PiiKind = 'email' | 'phone' | 'iban' | 'card' | 'key';

/** The kinds of values to find, and how to treat them; `undefined` means omitted. */
export interface PiiOptions extends GuardSettingsOptions {
  /** Default: all. */
  readonly kinds?: readonly PiiKind[] | undefined;
  /**
   * Whether the model receives numbered placeholders such as `[EMAIL_1]`, which the answer shows as the values again. For
   * guards of `input`. Default: false.
   */
  readonly restore?: boolean | undefined;
}

/** In the order in which they are tried. */
const RULES: Readonly<Record<PiiKind, () => Rule>> = {
  key: keyRule,
  email: emailRule,
  iban: () => ibanAt,
  card: () => cardAt,
  phone: () => phoneAt,
};
const KINDS = Object.keys(RULES) as readonly PiiKind[];

const isKinds: OptionCheck = (value) =>
  (Array.isArray(value) && value.length > 0 && value.every((kind) => Object.hasOwn(RULES, kind))) ||
  `a list of ${KINDS.join(', ')}`;

/**
 * A guard that replaces e-mail addresses, telephone numbers, IBANs, numbers of payment cards and keys of known providers,
 * such as by `[EMAIL]`. Account and card numbers count only with the right check digits. In a stream it holds back only
 * what may become such a value: at most 1,024 characters, of a key, and 64 of any other word. Throws a `TypeError` for a
 * bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { pii } from 'express-open-responses/guards';
 *
 * responsesRouter({ guards: { input: [pii({ restore: true })], output: [pii({ kinds: ['card', 'iban', 'key'] })] } });
 * ```
 */
export function pii(options: PiiOptions = {}): Guard {
  checkOptions('pii', options, { ...GUARD_CHECKS, kinds: isKinds, restore: boolean });
  const { kinds = KINDS, ...settings } = options;
  const chosenKinds = KINDS.filter((kind) => kinds.includes(kind));
  const scan = (text: string, from: number, isEnd: boolean) => scanText(text, from, isEnd, chosenKinds);
  return {
    name: 'pii',
    ...settings,
    scan,
    inspect({ text, signal }) {
      return mapMaybePromise(scanWhole(text, scan, signal), (findings) =>
        findings.length === 0 ? { action: 'pass' } : { action: 'replace', findings },
      );
    },
  };
}

/** One pass over the text; each rule looks no further than a value can be long. */
function scanText(text: string, from: number, isEnd: boolean, kinds: readonly PiiKind[]): GuardScan {
  const rules = kinds.map((kind) => ({ rule: kind.toUpperCase(), findEnd: RULES[kind]() }));
  const findings: GuardFinding[] = [];
  let at = from;
  while (at < text.length) {
    const start = at;
    at += 1;
    if (text.charCodeAt(start) === 0x20) continue;
    for (const { rule, findEnd } of rules) {
      const end = findEnd(text, start, isEnd);
      if (end === MORE) return { findings, settled: start };
      if (end <= start) continue;
      findings.push({ start, end, rule });
      at = end;
      break;
    }
  }
  return { findings, settled: text.length };
}
