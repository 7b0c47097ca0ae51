/** Detects misconfiguration at creation: unknown options and bad values are TypeErrors that name the option. */
import { inspect } from 'node:util';
import { isRecord } from '../../protocol/record.ts';

/** Returns true, or the description of a valid value. */
export type OptionCheck = ((value: unknown) => true | string) & {
  /** Whether the value is never quoted, since it may contain a secret. */
  readonly isSecret?: true;
};

/** The same check for a value that may contain a secret. */
export function asSecret(check: (value: unknown) => true | string): OptionCheck {
  return Object.assign((value: unknown) => check(value), { isSecret: true } as const);
}

/**
 * Throws a `TypeError` for an option that is not in `checks` or does not pass; `undefined` counts as omitted. `elsewhere` says of an
 * option that belongs to another place which that is.
 */
export function checkOptions(
  owner: string,
  options: object,
  checks: Readonly<Record<string, OptionCheck>>,
  elsewhere: Readonly<Record<string, string>> = {},
): void {
  if (!isRecord(options))
    throw new TypeError(`${owner}: the options must be an object, got ${inspect(options, { depth: 1 })}`);
  for (const [name, value] of Object.entries(options)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    if (!check) {
      const place = Object.hasOwn(elsewhere, name) ? `it belongs in ${elsewhere[name]}; ` : '';
      throw new TypeError(`${owner}: unknown option '${name}'; ${place}known are ${Object.keys(checks).join(', ')}`);
    }
    const expected = value === undefined || check(value);
    if (expected !== true) throw new TypeError(`${owner}: ${name} must be ${expected}, got ${quoted(value, check)}`);
  }
}

function quoted(value: unknown, { isSecret }: OptionCheck): string {
  const mayHoldOne = typeof value === 'string' || isRecord(value) || Array.isArray(value);
  return isSecret && mayHoldOne ? 'one that is not, which may be secret' : inspect(value, { depth: 1 });
}

/** A whole number from 1. */
export const positiveInteger: OptionCheck = (value) =>
  (Number.isInteger(value) && (value as number) > 0) || 'a positive whole number';

/** A whole number of this range. */
export function wholeNumber(min: number, max = Number.POSITIVE_INFINITY): OptionCheck {
  const range = max === Number.POSITIVE_INFINITY ? `${min}` : `${min} to ${max}`;
  return (value) =>
    (Number.isInteger(value) && Number(value) >= min && Number(value) <= max) || `a whole number from ${range}`;
}

/** A check for each amount of these names: those that end in `Ms` are times for timers, all others what `amount` says. */
export function amountChecks(amounts: object, amount = positiveInteger): Readonly<Record<string, OptionCheck>> {
  const names = Object.keys(amounts);
  return Object.fromEntries(names.map((name) => [name, name.endsWith('Ms') ? milliseconds : amount]));
}

/** An object with these methods, such as a port of the host's own making. */
export function withMethods(...methods: readonly string[]): OptionCheck {
  return (value) =>
    (isRecord(value) && methods.every((method) => typeof value[method] === 'function')) ||
    `an object with ${methods.join(', ')}`;
}

/** Any function. */
export const isFunction: OptionCheck = (value) => typeof value === 'function' || 'a function';

/** Any object. */
export const isObject: OptionCheck = (value) => isRecord(value) || 'an object';

/** The host's hooks. */
export const areHooks: OptionCheck = (value) => isRecord(value) || 'an object of functions';

/** True or false. */
export const boolean: OptionCheck = (value) => typeof value === 'boolean' || 'true or false';

/** One of these texts. */
export function isOneOf(...values: readonly string[]): OptionCheck {
  const known = values.map((value) => `'${value}'`).join(', ');
  // The cast: a value that is no text is not among them.
  return (value) => values.includes(value as string) || `one of ${known}`;
}

/** The characters that HTTP can carry; the usual fault is a line break at the end of a key read from a file. */
const HEADER_VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

/** Whether an HTTP header can carry the value. */
export function isHeaderValue(value: unknown): value is string {
  return typeof value === 'string' && HEADER_VALUE.test(value);
}

/** The longest delay that timers accept, in milliseconds; a longer one would fire at once. */
export const MAX_MS = 2_147_483_647;

/** A time for a timer. */
export const milliseconds: OptionCheck = (value) =>
  (positiveInteger(value) === true && Number(value) <= MAX_MS) || `a whole number of milliseconds from 1 to ${MAX_MS}`;

/** The same, or a fraction: Node treats longer times as zero. */
export const anyMilliseconds: OptionCheck = (value) =>
  (typeof value === 'number' && value > 0 && value < 2 ** 31) || 'a number of milliseconds, over 0 and under 2^31';
