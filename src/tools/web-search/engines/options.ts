/** Checks of the engines' options. */
import { asSecret, type OptionCheck } from '../../../ports/host/options-check.ts';

/** How long an engine may take for one search, in milliseconds, unless its options set another limit. */
export const DEFAULT_TIMEOUT_MS = 15_000;

/** An absolute `http` or `https` URL; it may contain a password. */
export const isBaseURL: OptionCheck = asSecret(
  (value) =>
    (typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) ||
    'an http or https URL',
);

/** A key that fits into a header. */
export const isApiKey: OptionCheck = asSecret(
  (value) => (typeof value === 'string' && /^[\x21-\x7e]+$/.test(value)) || 'a key: text without white space',
);

/** Throws a `TypeError` if a required option is missing. */
export function requireOption(owner: string, name: string, value: unknown): void {
  if (value === undefined) throw new TypeError(`${owner}: ${name} is required, got undefined`);
}
