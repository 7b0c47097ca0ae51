/** Checks a value against a JSON Schema, in time proportional to the value's length: arguments of tools, and their results. */
import { Validator } from '@cfworker/json-schema';
import { isRecord, type JsonObject } from '../record.ts';

/** Maximum characters of a value in which list items are checked for repetitions: each is compared with each. */
const MAX_COMPARED_LENGTH = 4096;
/** Formats whose patterns take exponential time. A format is a hint, and a schema must not rely on it. */
const SLOW_FORMATS: ReadonlySet<unknown> = new Set(['url']);
/** Keywords that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

/** The schema as it is checked for short and for long values. */
interface Checks {
  readonly short: Validator;
  readonly long: Validator;
}

/** Undefined for an invalid schema. */
const checksOf = new WeakMap<JsonObject, Checks | undefined>();

/** The fault as text; undefined if there is none. `text` is the value as JSON, such as arguments as the model wrote them. */
export function wrongIn(value: unknown, text: string, schema: JsonObject): string | undefined {
  if (!checksOf.has(schema)) checksOf.set(schema, compileChecks(schema));
  const checks = checksOf.get(schema);
  // An invalid schema checks nothing; the tool itself will.
  return checks && validationError(value, text.length <= MAX_COMPARED_LENGTH ? checks.short : checks.long);
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
    // The casts: a copy of a schema is one.
    const short = withoutSlowKeywords(schema, new Set()) as JsonObject;
    const long = withoutSlowKeywords(schema, new Set(['uniqueItems'])) as JsonObject;
    return { short: new Validator(short, '2020-12', true), long: new Validator(long, '2020-12', true) };
  } catch {
    return undefined;
  }
}

/** A copy of a schema, or of a part of one. A property may have a keyword's name, but its schema is an object. */
function withoutSlowKeywords(part: unknown, dropped: ReadonlySet<string>): unknown {
  if (Array.isArray(part)) return part.map((each) => withoutSlowKeywords(each, dropped));
  if (!isRecord(part)) return part;
  const fast = Object.entries(part).filter(([name, value]) =>
    name === 'format' ? !SLOW_FORMATS.has(value) : value !== true || !dropped.has(name),
  );
  return Object.fromEntries(
    fast.map(([name, value]) => [name, VALUES.has(name) ? value : withoutSlowKeywords(value, dropped)]),
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
