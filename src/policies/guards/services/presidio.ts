/** Finds personal data with Microsoft Presidio's analyzer, over HTTP. */
import type { Guard, GuardFinding } from '../../../ports/guard.ts';
import { boolean, checkOptions, type OptionCheck, positiveInteger } from '../../../ports/host/options-check.ts';
import { urlBelow } from '../../../ports/host/url-below.ts';
import { isRecord } from '../../../protocol/record.ts';
import { GUARD_CHECKS, type GuardSettingsOptions } from '../shared/guard-options.ts';
import { isServiceKey, isServiceURL, isText, isTexts, postJson } from './post-json.ts';

/** Where the analyzer runs, and what it looks for; `undefined` means omitted. */
export interface PresidioOptions extends GuardSettingsOptions {
  /** The address of the analyzer, such as `http://localhost:5002`. */
  readonly baseURL: string;
  /** A bearer token for a proxy in front of it. Default: none. */
  readonly apiKey?: string | undefined;
  /** Default: `en`. */
  readonly language?: string | undefined;
  /** Such as `['PERSON', 'LOCATION']`. Default: all that the analyzer knows. */
  readonly entities?: readonly string[] | undefined;
  /** The lowest score of a finding, from 0 to 1. Default: the analyzer's own. */
  readonly scoreThreshold?: number | undefined;
  /** As for `pii`. Default: false. */
  readonly restore?: boolean | undefined;
  /** The minimum number of characters of a stream that are held back. Default: 128. */
  readonly lookahead?: number | undefined;
}

/** The longest text that is sent, in characters; a longer one is a failure of the guard. */
const MAX_TEXT_LENGTH = 1_000_000;

const isShare: OptionCheck = (value) =>
  (typeof value === 'number' && value >= 0 && value <= 1) || 'a number from 0 to 1';

/**
 * A guard that replaces what a Presidio analyzer finds, such as by `[PERSON]`. Each text is one request to its `/analyze`.
 * Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import { responsesRouter } from 'express-open-responses';
 * import { pii, presidio } from 'express-open-responses/guards';
 *
 * const names = presidio({ baseURL: 'http://localhost:5002', entities: ['PERSON', 'LOCATION'] });
 * responsesRouter({ guards: { input: [pii(), names] } });
 * ```
 */
export function presidio(options: PresidioOptions): Guard {
  checkOptions('presidio', options, {
    ...GUARD_CHECKS,
    baseURL: isServiceURL,
    apiKey: isServiceKey,
    language: isText,
    entities: isTexts,
    scoreThreshold: isShare,
    restore: boolean,
    lookahead: positiveInteger,
  });
  const { baseURL, apiKey, language = 'en', entities, scoreThreshold, ...settings } = options;
  if (baseURL === undefined) throw new TypeError('presidio: baseURL is required, got undefined');
  const url = urlBelow(baseURL, 'analyze');
  const terms = {
    language,
    ...(entities ? { entities } : {}),
    ...(scoreThreshold === undefined ? {} : { score_threshold: scoreThreshold }),
  };
  return {
    name: 'presidio',
    ...settings,
    async inspect({ text, signal }) {
      if (text.length > MAX_TEXT_LENGTH)
        throw new Error(`A text of ${text.length} characters is too long for Presidio.`);
      const answer = await postJson({ service: 'Presidio', url, apiKey, body: { text, ...terms }, signal });
      return { action: 'replace', findings: readFindings(answer, text) };
    },
  };
}

interface Entity {
  readonly start: number;
  readonly end: number;
  readonly rule: string;
}

/** Presidio counts whole characters, and its findings may overlap: those that do are one. */
function readFindings(answer: unknown, text: string): readonly GuardFinding[] {
  if (!Array.isArray(answer)) throw new Error('Presidio did not answer with a list.');
  const entities = answer
    .map((entity): Entity => {
      const { start, end, entity_type: rule } = isRecord(entity) ? entity : {};
      if (!Number.isInteger(start) || !Number.isInteger(end) || typeof rule !== 'string' || !/^\w+$/.test(rule))
        throw new Error('Presidio answered with an entity of another form.');
      // The casts: they are integers.
      return { start: start as number, end: end as number, rule };
    })
    .toSorted((one, other) => one.start - other.start || other.end - one.end);
  const merged: Entity[] = [];
  for (const entity of entities) {
    const last = merged.at(-1);
    if (last && entity.start < last.end) merged[merged.length - 1] = { ...last, end: Math.max(last.end, entity.end) };
    else merged.push(entity);
  }
  const indexOf = utf16Indexer(text);
  return merged.map(({ start, end, rule }) => ({ start: indexOf(start), end: indexOf(end), rule }));
}

/** From an index of whole characters to one of UTF-16 units; asked in ascending order. */
function utf16Indexer(text: string): (index: number) => number {
  let units = 0;
  let characters = 0;
  return (index) => {
    while (characters < index && units < text.length) {
      units += (text.codePointAt(units) ?? 0) > 0xffff ? 2 : 1;
      characters += 1;
    }
    return index > characters ? Number.NaN : units;
  };
}
