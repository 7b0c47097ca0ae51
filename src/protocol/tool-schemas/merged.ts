/** Writes a union of JSON Schemas for objects as one schema that accepts everything which the union accepts. */
import { isRecord, type JsonObject, recordsIn } from '../record.ts';
import { resolveReferences } from './references.ts';

/** Unions within unions are read to this depth and up to so many branches, and count as any object beyond. */
const MAX_DEPTH = 8;
const MAX_BRANCHES = 1000;

const OBJECT_KEYWORDS: ReadonlySet<string> = new Set([
  'properties',
  'required',
  'additionalProperties',
  'patternProperties',
]);
const UNIONS = ['anyOf', 'oneOf', 'allOf'] as const;
/** What the keywords of a root may not be, at servers that refuse unions there. */
const ROOT_ONLY: ReadonlySet<string> = new Set([
  'enum',
  'const',
  'not',
  'if',
  'then',
  'else',
  'dependentSchemas',
  // It refuses what none of these names, and they are gone.
  'unevaluatedProperties',
  ...UNIONS,
]);

/** The schema without a union: of `allOf` the parts of all branches, of the others what each branch has. */
export function withoutUnions(root: JsonObject, schema: JsonObject, depth = 0, read = { branches: 0 }): JsonObject {
  const whole = resolveReferences(root, schema);
  const [any = [], one = [], all = []] = UNIONS.map((name) => {
    const branches = whole[name];
    return recordsIn(branches);
  });
  const base = Object.fromEntries(Object.entries(whole).filter(([name]) => !ROOT_ONLY.has(name)));
  const count = any.length + one.length + all.length;
  if (count === 0) return base;
  read.branches += count;
  if (depth >= MAX_DEPTH || read.branches > MAX_BRANCHES) return anyObject(base);
  const flat = (branch: JsonObject) => withoutUnions(root, branch, depth + 1, read);
  let merged = mergeAll([base, ...all.map(flat)]);
  if (any.length > 0) merged = mergeAny(merged, any.map(flat));
  if (one.length > 0) merged = mergeAny(merged, one.map(flat));
  return merged;
}

function anyObject(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !OBJECT_KEYWORDS.has(name)));
}

function readProperties({ properties }: JsonObject): JsonObject {
  return isRecord(properties) ? properties : {};
}

function readRequired({ required }: JsonObject): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** All constraints of the first schema, and the properties of all of them; of two for one property the first. */
function mergeAll(parts: readonly JsonObject[]): JsonObject {
  const [first = {}, ...others] = parts;
  if (others.length === 0) return first;
  const properties: Record<string, unknown> = {};
  for (const part of parts)
    for (const [name, schema] of Object.entries(readProperties(part)))
      if (!Object.hasOwn(properties, name)) setProperty(properties, name, schema);
  // Properties of the other parts are not those of the first, which may allow no others.
  return { ...anyObject(first), properties, required: [...new Set(parts.flatMap(readRequired))] };
}

/** What a union says about one property. */
interface UnionProperty {
  readonly variants: Map<string, unknown>;
  /** The number of branches that allow other properties and have it. */
  open: number;
}

/** The base with the properties of the branches, one of which holds. */
function mergeAny(base: JsonObject, branches: readonly JsonObject[]): JsonObject {
  const objects = branches.filter(({ type }) => type === undefined || [type].flat().includes('object'));
  const openBranches = objects.filter((branch) => branch.additionalProperties !== false || branch.patternProperties);
  const found = new Map<string, UnionProperty>();
  const required = new Map<unknown, number>();
  for (const branch of objects) {
    const isOpen = branch.additionalProperties !== false || Boolean(branch.patternProperties);
    for (const [name, schema] of Object.entries(readProperties(branch))) {
      const property = found.get(name) ?? { variants: new Map(), open: 0 };
      found.set(name, property);
      property.variants.set(JSON.stringify(schema), schema);
      if (isOpen) property.open += 1;
    }
    for (const name of new Set(readRequired(branch))) required.set(name, (required.get(name) ?? 0) + 1);
  }
  const properties: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(readProperties(base))) setProperty(properties, name, schema);
  for (const [name, { variants, open }] of found) {
    if (Object.hasOwn(properties, name)) continue;
    const schemas = [...variants.values()];
    if (open === openBranches.length) {
      setProperty(properties, name, schemas.length === 1 ? schemas[0] : { anyOf: schemas });
      continue;
    }
    // A branch without the property, and open to others, accepts any value of it.
    const { description } = schemas.filter(isRecord).find((each) => typeof each.description === 'string') ?? {};
    setProperty(properties, name, description === undefined ? {} : { description });
  }
  const always = [...required].filter(([, count]) => count === objects.length).map(([name]) => name);
  return { ...anyObject(base), properties, required: [...new Set([...readRequired(base), ...always])] };
}

/** Sets it even where it is `__proto__`, to which an assignment would be lost. */
export function setProperty(properties: Record<string, unknown>, name: string, schema: unknown): void {
  if (name !== '__proto__') properties[name] = schema;
  else Object.defineProperty(properties, name, { value: schema, enumerable: true, writable: true, configurable: true });
}
