/** Lets only URLs pass that a policy allows. */
import { checkUrl } from '../../egress/check-url.ts';
import { EgressError } from '../../egress/egress-error.ts';
import { type EgressPolicy, type EgressSettings, egressSettings } from '../../egress/policy.ts';
import type { Guard, GuardFinding, GuardScan } from '../../ports/guard.ts';
import { checkOptions } from '../../ports/host/options-check.ts';
import { GUARD_CHECKS, type GuardSettingsOptions } from '../shared/guard-options.ts';

/** The longest URL that is held back; a longer one is refused. */
const LONGEST = 2048;
/** RFC 3986 sets no limit; the longest that is in use has half as many. */
const LONGEST_SCHEME = 32;
const RULE = 'URL';

/**
 * A guard for URLs, by a policy of `egressGuard`. In the arguments of a tool a URL that is not allowed blocks the call;
 * anywhere else, such as in a result or an answer whose links could carry something out, `[URL]` takes its place. It looks
 * at names and addresses as they are written: `egressGuard` also checks what a name resolves to. Throws a `TypeError` for a
 * bad policy or option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { allowUrls } from 'express-open-responses/guards';
 *
 * const urls = allowUrls({ allow: [{ suffix: '.example.com' }] });
 * responsesRouter({ guards: { output: [urls], tools: [urls] } });
 * ```
 */
export function allowUrls(policy: EgressPolicy, options: GuardSettingsOptions = {}): Guard {
  checkOptions('allowUrls', options, GUARD_CHECKS);
  const settings = egressSettings(policy);
  const scan = (text: string, from: number, isEnd: boolean) => scanUrls(text, from, isEnd, settings);
  const { mode, timeoutMs, onFailure } = options;
  return {
    name: 'allowUrls',
    mode,
    timeoutMs,
    onFailure,
    scan,
    inspect({ text, direction }) {
      const { findings } = scan(text, 0, true);
      if (findings.length === 0) return { action: 'pass' };
      if (direction !== 'tool-arguments') return { action: 'replace', findings };
      return { action: 'block', reason: 'It names a URL that is not allowed.', rule: RULE };
    },
  };
}

function scanUrls(text: string, from: number, isEnd: boolean, settings: EgressSettings): GuardScan {
  const findings: GuardFinding[] = [];
  let at = from;
  while (at < text.length) {
    const scheme = schemeEnd(text, at);
    // The rest of a word that was too long for a scheme is not a scheme either.
    const mayBeScheme = scheme > at && scheme - at < LONGEST_SCHEME && !isInScheme(text.charCodeAt(at - 1));
    if (mayBeScheme && !isEnd && isOpen(text, scheme)) return { findings, settled: at };
    if (!mayBeScheme || !text.startsWith('://', scheme)) {
      at = Math.max(scheme, at + 1);
      continue;
    }
    const most = at + LONGEST;
    const end = urlEnd(text, scheme + 3, most);
    if (!isEnd && end === text.length && end < most) return { findings, settled: at };
    const closed = withoutStop(text, scheme + 3, end);
    if (!isAllowed(text.slice(at, closed), settings)) findings.push({ start: at, end: closed, rule: RULE });
    at = closed;
  }
  return { findings, settled: text.length };
}

/** Whether `://` may still follow the scheme once there is more text. */
function isOpen(text: string, scheme: number): boolean {
  return '://'.startsWith(text.slice(scheme, scheme + 3)) && scheme + 3 > text.length;
}

/** The end of the word, which may be a scheme. */
function schemeEnd(text: string, from: number): number {
  let end = from;
  while (end < text.length && isInScheme(text.charCodeAt(end))) end += 1;
  return end;
}

function isInScheme(unit: number): boolean {
  const lower = unit | 0x20;
  const isSign = unit === 0x2b || unit === 0x2d || unit === 0x2e;
  return (lower >= 0x61 && lower <= 0x7a) || (unit >= 0x30 && unit <= 0x39) || isSign;
}

/** Marks that end a URL in a text, in Markdown or in HTML. */
const ENDS: ReadonlySet<string> = new Set(' \t\r\n"\'<>)]}|`');

function urlEnd(text: string, from: number, most: number): number {
  let end = from;
  while (end < text.length && end < most && !ENDS.has(text.charAt(end))) end += 1;
  return end;
}

/** Without the marks that end a sentence. */
function withoutStop(text: string, from: number, to: number): number {
  let end = to;
  while (end > from && '.,;:!?'.includes(text.charAt(end - 1))) end -= 1;
  return end;
}

function isAllowed(url: string, settings: EgressSettings): boolean {
  if (url.length >= LONGEST) return false;
  try {
    checkUrl(url, settings);
    return true;
  } catch (error) {
    if (error instanceof EgressError) return false;
    throw error;
  }
}
