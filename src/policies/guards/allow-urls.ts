/** Lets only URLs pass that a policy allows. */

import type { Guard, GuardFinding, GuardScan } from '../../ports/guard.ts';
import { checkOptions } from '../../ports/host/options-check.ts';
import { mapMaybePromise } from '../../protocol/record.ts';
import { checkUrl } from '../../tools/egress/check-url.ts';
import { EgressError } from '../../tools/egress/egress-error.ts';
import { type EgressPolicy, type EgressSettings, egressSettings } from '../../tools/egress/policy.ts';
import { GUARD_CHECKS, type GuardSettingsOptions } from './shared/guard-options.ts';
import { scanWhole } from './shared/scan-whole.ts';

/** The longest URL that is held back; a longer one is refused. */
const MAX_URL_LENGTH = 2048;
/** RFC 3986 sets no limit; the longest that is in use has half as many. */
const MAX_SCHEME_LENGTH = 32;
const MAX_HOST_LENGTH = 253;
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
    inspect({ text, direction, signal }) {
      return mapMaybePromise(scanWhole(text, scan, signal), (findings) => {
        if (findings.length === 0) return { action: 'pass' };
        if (direction !== 'tool-arguments') return { action: 'replace', findings };
        return { action: 'block', reason: 'It names a URL that is not allowed.', rule: RULE };
      });
    },
  };
}

/** A URL that begins somewhere: where what follows its scheme begins. */
type Opening = number | typeof MORE | typeof NONE;
const MORE = -2;
const NONE = -1;

function scanUrls(text: string, from: number, isEnd: boolean, settings: EgressSettings): GuardScan {
  const findings: GuardFinding[] = [];
  let at = from;
  while (at < text.length) {
    // The end of the word, which may be a scheme.
    let word = at;
    while (word < text.length && isInScheme(text.charCodeAt(word))) word += 1;
    const opening = word > at ? afterScheme(text, at, word) : afterSlashes(text, at);
    if (opening === MORE && !isEnd) return { findings, settled: at };
    if (opening < 0) {
      at = Math.max(word, at + 1);
      continue;
    }
    const maxEnd = at + MAX_URL_LENGTH;
    let end = opening;
    while (end < text.length && end < maxEnd && !ENDS.has(text.charAt(end))) end += 1;
    if (!isEnd && end === text.length && end < maxEnd) return { findings, settled: at };
    // Without the marks that end a sentence.
    while (end > opening && '.,;:!?'.includes(text.charAt(end - 1))) end -= 1;
    const url = text.slice(at, end);
    // An address without a scheme has that of the page it is on.
    const isRefused =
      word > at
        ? url.length > word + 1 - at && !isAllowed(url, settings)
        : settings.protocols.every((scheme) => !isAllowed(scheme + url, settings));
    if (isRefused) findings.push({ start: at, end, rule: RULE });
    at = Math.max(end, word);
  }
  return { findings, settled: text.length };
}

/** `new URL` and `fetch` also take those of the web without slashes, or with others, such as `https:\\example.com`. */
const WEB: ReadonlySet<string> = new Set(['http', 'https', 'ws', 'wss', 'ftp']);

function afterScheme(text: string, at: number, word: number): Opening {
  // The rest of a word that was too long for a scheme is not a scheme either.
  if (word - at >= MAX_SCHEME_LENGTH || isInScheme(text.charCodeAt(at - 1))) return NONE;
  if (!WEB.has(text.slice(at, word).toLowerCase())) {
    if (text.startsWith('://', word)) return word + 3;
    const mayFollow = '://'.startsWith(text.slice(word, word + 3)) && word + 3 > text.length;
    return mayFollow ? MORE : NONE;
  }
  const colon = behindBreaks(text, word);
  if (colon < text.length && text[colon] !== ':') return NONE;
  const next = behindBreaks(text, colon + 1);
  if (next >= text.length) return MORE;
  const isText = next > colon + 1 && !SLASHES.has(text.charAt(next));
  return isText || ENDS.has(text.charAt(next)) ? NONE : next;
}

const MAX_BREAKS = 8;

/** Readers of URLs leave tabs and line breaks out. */
function behindBreaks(text: string, from: number): number {
  let at = from;
  while (at - from < MAX_BREAKS && '\t\r\n'.includes(text.charAt(at) || ' ')) at += 1;
  return at;
}

/** What stands in front of an address in Markdown, HTML and JSON. */
const BEFORE: ReadonlySet<string> = new Set('("\'=<');
const SLASHES: ReadonlySet<string> = new Set('/\\');

/** An address that takes its scheme from the page, such as `//example.com`: with the dot of a name, as comments have none. */
function afterSlashes(text: string, at: number): Opening {
  if (!SLASHES.has(text.charAt(at)) || !(at === 0 || BEFORE.has(text.charAt(at - 1)))) return NONE;
  if (at + 1 === text.length) return MORE;
  if (!SLASHES.has(text.charAt(at + 1))) return NONE;
  const maxEnd = Math.min(text.length, at + 2 + MAX_HOST_LENGTH);
  let end = at + 2;
  while (end < maxEnd && !ENDS.has(text.charAt(end)) && !'/\\?#='.includes(text.charAt(end))) end += 1;
  if (text.slice(at + 2, end).includes('.')) return at + 2;
  return end === text.length ? MORE : NONE;
}

function isInScheme(unit: number): boolean {
  const lower = unit | 0x20;
  const isSign = unit === 0x2b || unit === 0x2d || unit === 0x2e;
  return (lower >= 0x61 && lower <= 0x7a) || (unit >= 0x30 && unit <= 0x39) || isSign;
}

/** Marks that end a URL in a text, in Markdown or in HTML. */
const ENDS: ReadonlySet<string> = new Set(' \t\r\n"\'<>)]}|`');

function isAllowed(url: string, settings: EgressSettings): boolean {
  if (url.length >= MAX_URL_LENGTH) return false;
  try {
    checkUrl(url, settings);
    return true;
  } catch (error) {
    if (error instanceof EgressError) return false;
    throw error;
  }
}
