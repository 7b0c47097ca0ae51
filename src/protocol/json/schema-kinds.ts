/** Schemas for values that may be huge: they stop at the first fault, since zod creates an issue for each, and copy nothing. */
import type { z } from 'zod';
import { isRecord, type JsonObject } from '../record.ts';
import { lazily } from './lazy-schema.ts';
import { zod } from './packages.cjs';

type Issue = z.core.$ZodRawIssue;

/** A schema of one function, which returns the fault or undefined; the value passes unchanged. */
function kind<Value>(faultOf: (value: unknown) => Issue | undefined): z.ZodType<Value> {
  const schema = zod()
    .z.unknown()
    .check(({ value, issues }) => {
      const fault = faultOf(value);
      if (fault) issues.push(fault);
    });
  // The cast: any other value has an issue.
  return schema as unknown as z.ZodType<Value>;
}

function wrongType(expected: 'array' | 'record' | 'string', input: unknown, path: PropertyKey[] = []): Issue {
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
  kind<JsonObject>((value) => (isRecord(value) ? undefined : wrongType('record', value))),
);

/** A list with any members. */
export const list = lazily((z) => z.custom<readonly unknown[]>(Array.isArray, 'it must be an array'));

/** A list of such members, with a maximum length. */
export function listOf<Member extends z.ZodType>(
  member: Member,
  maximum = Number.POSITIVE_INFINITY,
): z.ZodType<readonly z.infer<Member>[]> {
  return kind((value) => {
    if (!Array.isArray(value)) return wrongType('array', value);
    if (value.length > maximum) return { code: 'too_big', origin: 'array', maximum, input: value };
    return firstFault(value, member);
  });
}

function firstFault(members: readonly unknown[], schema: z.ZodType): Issue | undefined {
  for (const [index, member] of members.entries()) {
    const issue = schema.safeParse(member).error?.issues[0];
    // The cast: an issue of one schema fits another once it has its input.
    if (issue) return { ...issue, path: [index, ...issue.path], input: member } as Issue;
  }
  return undefined;
}

/** The maximum number of pairs, and the maximum characters of each key and value. */
interface PairLimits {
  readonly pairs: number;
  readonly keyLength: number;
  readonly valueLength: number;
}

/** An object of short texts. */
export function textPairs(limits: PairLimits): z.ZodType<Readonly<Record<string, string>>> {
  return kind((value) => (isRecord(value) ? faultInPairs(value, limits) : wrongType('record', value)));
}

function faultInPairs(pairs: JsonObject, { pairs: most, keyLength, valueLength }: PairLimits): Issue | undefined {
  let count = 0;
  for (const key in pairs) {
    count += 1;
    const fault = count > most ? refused(pairs, `it must hold at most ${most} pairs`) : faultInPair(key, pairs[key]);
    if (fault) return fault;
  }
  return undefined;

  function faultInPair(key: string, value: unknown): Issue | undefined {
    if (key.length > keyLength) return refused(pairs, `its keys must have at most ${keyLength} characters`);
    if (typeof value !== 'string') return wrongType('string', value, [key]);
    if (value.length <= valueLength) return undefined;
    return { code: 'too_big', origin: 'string', maximum: valueLength, input: value, path: [key] };
  }
}

function refused(input: unknown, message: string): Issue {
  return { code: 'custom', message, input };
}
