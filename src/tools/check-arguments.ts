/** Checks the arguments of a call against the schema of its tool, in time proportional to their length. */
import { Validator } from '@cfworker/json-schema';
import { isRecord, type JsonObject } from '../protocol/record.ts';

/** Maximum characters of arguments in which list items are checked for repetitions: each is compared with each. */
const MOST_COMPARED = 4096;
/** Formats whose patterns take exponential time. A format is a hint, and a schema must not rely on it. */
const SLOW_FORMATS: ReadonlySet<unknown> = new Set(['url']);
/** Keywords that hold values, not schemas. */
const VALUES: ReadonlySet<string> = new Set(['enum', 'const', 'default', 'examples']);

/** The schema as it is checked for short and for long arguments. */
interface Checks {
  readonly short: Validator;
  readonly long: Validator;
}

/** Undefined for an invalid schema. */
const checksOf = new WeakMap<JsonObject, Checks | undefined>();

/** The fault as text; undefined if there is none. `text` is the arguments as the model wrote them. */
export function wrongIn(args: JsonObject, text: string, schema: JsonObject): string | undefined {
  if (!checksOf.has(schema)) checksOf.set(schema, newChecks(schema));
  const checks = checksOf.get(schema);
  // An invalid schema checks nothing; the tool itself will.
  return checks && errorIn(args, text.length <= MOST_COMPARED ? checks.short : checks.long);
}

function errorIn(args: JsonObject, validator: Validator): string | undefined {
  try {
    const { valid, errors } = validator.validate(args);
    const error = errors.at(-1);
    return valid || !error ? undefined : `${error.error} (path=${error.instanceLocation})`;
  } catch (error) {
    // Arguments nested too deeply to check are rejected, or a model could bypass the check.
    return error instanceof RangeError ? 'the arguments are nested too deeply' : undefined;
  }
}

function newChecks(schema: JsonObject): Checks | undefined {
  try {
    // The casts: a copy of a schema is one.
    const short = withoutSlow(schema, new Set()) as JsonObject;
    const long = withoutSlow(schema, new Set(['uniqueItems'])) as JsonObject;
    return { short: validatorOf(short), long: validatorOf(long) };
  } catch {
    return undefined;
  }
}

/** Interpreted, not compiled: the schema may come from a third-party server, and must not become code here. */
function validatorOf(schema: JsonObject): Validator {
  return new Validator(schema, '2020-12', true);
}

/** A copy of a schema, or of a part of one. A property may have a keyword's name, but its schema is an object. */
function withoutSlow(part: unknown, dropped: ReadonlySet<string>): unknown {
  if (Array.isArray(part)) return part.map((each) => withoutSlow(each, dropped));
  if (!isRecord(part)) return part;
  const kept = Object.entries(part).filter(([name, value]) => !isSlow(name, value, dropped));
  return Object.fromEntries(
    kept.map(([name, value]) => [name, VALUES.has(name) ? value : withoutSlow(value, dropped)]),
  );
}

function isSlow(name: string, value: unknown, dropped: ReadonlySet<string>): boolean {
  if (name === 'format') return SLOW_FORMATS.has(value);
  return value === true && dropped.has(name);
}
