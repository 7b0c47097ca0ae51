/** Checks a value against a JSON Schema, in time proportional to the value's length, or refuses it: arguments of tools, and results. */
import { Validator } from '@cfworker/json-schema';
import { isRecord, type JsonObject } from '../record.ts';
import { runWithTimeout } from './run-with-timeout.ts';
import { SCHEMA_MAPS } from './schema-keywords.ts';

/** Maximum characters of a value in which list items are checked for repetitions: each is compared with each. */
const MAX_COMPARED_LENGTH = 4096;
/** Formats whose patterns take exponential time. A format is a hint, and a schema must not rely on it. */
const SLOW_FORMATS: ReadonlySet<unknown> = new Set(['url']);
/** Keywords that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);
/** Keywords that hold schemas by name, also one of earlier drafts. */
const MAPS: ReadonlySet<string> = new Set([...SCHEMA_MAPS, 'dependencies']);

/**
 * Keywords whose work has no bound in the value's length: patterns backtrack, and alternatives that refer to their own schema
 * double the work with each level of the value.
 */
const UNBOUNDED: ReadonlySet<string> = new Set(['pattern', 'patternProperties', '$ref', '$recursiveRef']);
/** The milliseconds that a check with such keywords may take, whatever the value. */
const MAX_CHECK_MS = 250;
/** Characters of a value for which it may take a millisecond more: an idle machine checks ten times as many. */
const CHARACTERS_PER_MS = 1_000;

/** The schema as it is checked for short and for long values. */
interface Checks {
  readonly short: Validator;
  readonly long: Validator;
  /** Whether it has keywords whose work has no bound. */
  readonly isUnbounded: boolean;
}

/** Undefined for an invalid schema. */
const checksOf = new WeakMap<JsonObject, Checks | undefined>();

/**
 * The fault as text; undefined if there is none. `text` is the value as JSON, such as arguments as the model wrote them. A value
 * that patterns or references cannot check within 250 ms, and a millisecond for each 1,000 characters, is refused.
 */
export function wrongIn(value: unknown, text: string, schema: JsonObject): string | undefined {
  if (!checksOf.has(schema)) checksOf.set(schema, compileChecks(schema));
  const checks = checksOf.get(schema);
  // An invalid schema checks nothing; the tool itself will.
  if (!checks) return undefined;
  const validator = text.length <= MAX_COMPARED_LENGTH ? checks.short : checks.long;
  if (!checks.isUnbounded) return validationError(value, validator);
  const timeoutMs = MAX_CHECK_MS + text.length / CHARACTERS_PER_MS;
  const checked = runWithTimeout(() => validationError(value, validator), timeoutMs);
  return checked ? checked.value : 'the value could not be checked in time';
}

function validationError(value: unknown, validator: Validator): string | undefined {
  try {
    const { valid, errors } = validator.validate(value);
    const error = errors.at(-1);
    return valid || !error ? undefined : `${error.error} (path=${error.instanceLocation})`;
  } catch (error) {
    // A value nested too deeply to check is rejected, or a model could bypass the check.
    return error instanceof RangeError ? 'the value is nested too deeply' : undefined;
  }
}

function compileChecks(schema: JsonObject): Checks | undefined {
  try {
    const keywords = new Set<string>();
    // The casts: a copy of a schema is one.
    const short = withoutSlowKeywords(schema, new Set(), keywords) as JsonObject;
    const long = withoutSlowKeywords(schema, new Set(['uniqueItems']), keywords) as JsonObject;
    return {
      short: new Validator(short, '2020-12', true),
      long: new Validator(long, '2020-12', true),
      isUnbounded: [...UNBOUNDED].some((keyword) => keywords.has(keyword)),
    };
  } catch {
    return undefined;
  }
}

/** A copy of a schema, a list of schemas or, if `isMap`, of schemas by name. Adds their keywords to `keywords`. */
function withoutSlowKeywords(
  part: unknown,
  dropped: ReadonlySet<string>,
  keywords: Set<string>,
  isMap = false,
): unknown {
  if (Array.isArray(part)) return part.map((each) => withoutSlowKeywords(each, dropped, keywords));
  if (!isRecord(part)) return part;
  const entries = Object.entries(part);
  if (isMap)
    return Object.fromEntries(entries.map(([name, each]) => [name, withoutSlowKeywords(each, dropped, keywords)]));
  const fast = entries.filter(([name, value]) => (name === 'format' ? !SLOW_FORMATS.has(value) : !dropped.has(name)));
  for (const [name] of fast) keywords.add(name);
  return Object.fromEntries(
    fast.map(([name, value]) => [
      name,
      VALUES.has(name) ? value : withoutSlowKeywords(value, dropped, keywords, MAPS.has(name)),
    ]),
  );
}

/** What is checked of a schema from outside: keywords with which each value is visited once, by one schema. */
const PLAIN: ReadonlySet<string> = new Set([
  'type',
  'enum',
  'const',
  'required',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]);
/** The most comparisons of a value with a schema from outside: the value's characters times the schema's widest part. */
const MAX_STEPS = 20_000_000;

/** The plain part of a schema, and the number of members of its widest part. */
interface PlainCheck {
  readonly validator: Validator;
  readonly width: number;
}

const plainChecks = new WeakMap<JsonObject, PlainCheck | undefined>();

/**
 * The same for a schema from outside, whose author may choose both: without patterns, references and alternatives, whose work
 * has no bound. What is left unchecked counts as right.
 */
export function plainlyWrongIn(value: unknown, text: string, schema: JsonObject): string | undefined {
  if (!plainChecks.has(schema)) plainChecks.set(schema, compilePlainCheck(schema));
  const check = plainChecks.get(schema);
  return check && text.length * check.width <= MAX_STEPS ? validationError(value, check.validator) : undefined;
}

function compilePlainCheck(schema: JsonObject): PlainCheck | undefined {
  const widths = [1];
  try {
    // The cast: the plain part of an object is one.
    const validator = new Validator(plainPart(schema, widths) as JsonObject, '2020-12', true);
    return { validator, width: widths.reduce((widest, width) => Math.max(widest, width)) };
  } catch {
    return undefined;
  }
}

/** `false` stays: it forbids what it is the schema of. */
function plainPart(schema: unknown, widths: number[]): unknown {
  if (!isRecord(schema)) return schema !== false;
  const { properties, items, additionalProperties, enum: values, required } = schema;
  const inner = isRecord(properties) ? Object.entries(properties) : [];
  for (const list of [inner, values, required]) if (Array.isArray(list)) widths.push(list.length);
  // Beside patterns, or other schemas of the first items, they speak of the rest only.
  const forOthers = additionalProperties === undefined || schema.patternProperties !== undefined;
  const forRest = !(isRecord(items) || items === false) || schema.prefixItems !== undefined;
  return {
    ...Object.fromEntries(Object.entries(schema).filter(([name]) => PLAIN.has(name))),
    ...(inner.length > 0
      ? { properties: Object.fromEntries(inner.map(([name, each]) => [name, plainPart(each, widths)])) }
      : {}),
    ...(forRest ? {} : { items: plainPart(items, widths) }),
    ...(forOthers ? {} : { additionalProperties: plainPart(additionalProperties, widths) }),
  };
}
