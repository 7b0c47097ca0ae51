/** Schemas for values that may be huge: they stop at the first fault, since zod creates an issue for each, and copy nothing. */
import type { z } from 'zod';
import { isRecord, type JsonObject } from '../record.ts';
import { lazily } from './lazy-schema.ts';
import { zod } from './packages.cjs';

type Issue = z.core.$ZodRawIssue;

/** What a schema that is a function accepts, as JSON Schema; `convert` does the same for a schema within it. */
type KindShape = (convert: (schema: z.core.$ZodType) => JsonObject) => JsonObject;

const shapes = new WeakMap<z.core.$ZodType, KindShape>();

/** The shape of a schema of this file, also as part of one that is made of it, as by `refine`; undefined for any other. */
export function kindShape(schema: z.core.$ZodType): KindShape | undefined {
  const { parent } = schema._zod;
  return shapes.get(schema) ?? (parent && kindShape(parent));
}

/** A schema of one function, which returns the fault or undefined; the value passes unchanged. */
function kind<Value>(shape: KindShape, findFault: (value: unknown) => Issue | undefined): z.ZodType<Value> {
  const schema = zod()
    .z.unknown()
    .check(({ value, issues }) => {
      const fault = findFault(value);
      if (fault) issues.push(fault);
    });
  shapes.set(schema, shape);
  // The cast: any other value has an issue.
  return schema as unknown as z.ZodType<Value>;
}

function typeIssue(expected: 'array' | 'record' | 'string', input: unknown, path: PropertyKey[] = []): Issue {
  return { code: 'invalid_type', expected, input, path };
}

/** The schemas that most others consist of. */
export const kinds = lazily((z) => {
  const text = z.string();
  return { text, optionalText: text.nullish(), flag: z.boolean().nullish(), callId: z.string().min(1) };
});

/** A union whose error names what was expected. */
export function either<const T extends readonly [z.ZodType, ...z.ZodType[]]>(expected: string, ...options: T) {
  return zod().z.union(options as never, { error: expected }) as unknown as z.ZodUnion<T>;
}

/** An object with any fields. */
export const fields = lazily(() =>
  kind<JsonObject>(
    () => ({ type: 'object' }),
    (value) => (isRecord(value) ? undefined : typeIssue('record', value)),
  ),
);

/** A list with any members. */
export const list = lazily((z) => {
  const schema = z.custom<readonly unknown[]>(Array.isArray, 'it must be an array');
  shapes.set(schema, () => ({ type: 'array', items: {} }));
  return schema;
});

/** A list of such members, with a maximum length. */
export function listSchema<Member extends z.ZodType>(
  member: Member,
  maximum = Number.POSITIVE_INFINITY,
): z.ZodType<readonly z.infer<Member>[]> {
  const bound = Number.isFinite(maximum) ? { maxItems: maximum } : {};
  const shape: KindShape = (convert) => ({ type: 'array', items: convert(member), ...bound });
  return kind(shape, (value) => {
    if (!Array.isArray(value)) return typeIssue('array', value);
    if (value.length > maximum) return { code: 'too_big', origin: 'array', maximum, input: value };
    for (const [index, each] of value.entries()) {
      const issue = member.safeParse(each).error?.issues[0];
      // The cast: an issue of one schema fits another once it has its input.
      if (issue) return { ...issue, path: [index, ...issue.path], input: each } as Issue;
    }
    return undefined;
  });
}

/** The maximum number of pairs, and the maximum characters of each key and value. */
interface PairLimits {
  readonly pairs: number;
  readonly keyLength: number;
  readonly valueLength: number;
}

/** An object of short texts. */
export function textPairs({
  pairs: maxPairs,
  keyLength,
  valueLength,
}: PairLimits): z.ZodType<Readonly<Record<string, string>>> {
  const customIssue = (input: unknown, message: string): Issue => ({ code: 'custom', message, input });
  const shape = () => ({
    type: 'object',
    maxProperties: maxPairs,
    propertyNames: { maxLength: keyLength },
    additionalProperties: { type: 'string', maxLength: valueLength },
  });
  return kind(shape, (pairs) => {
    if (!isRecord(pairs)) return typeIssue('record', pairs);
    let count = 0;
    for (const key in pairs) {
      count += 1;
      if (count > maxPairs) return customIssue(pairs, `it must hold at most ${maxPairs} pairs`);
      if (key.length > keyLength) return customIssue(pairs, `its keys must have at most ${keyLength} characters`);
      const value = pairs[key];
      if (typeof value !== 'string') return typeIssue('string', value, [key]);
      if (value.length > valueLength)
        return { code: 'too_big', origin: 'string', maximum: valueLength, input: value, path: [key] };
    }
    return undefined;
  });
}
