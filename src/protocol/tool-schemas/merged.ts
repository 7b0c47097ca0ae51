/** Writes a union of JSON Schemas for objects as one schema that accepts everything which the union accepts. */
import { isRecord, type JsonObject } from '../record.ts';
import { resolved } from './references.ts';

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
  const whole = resolved(root, schema);
  const all = branchesIn(whole.allOf);
  const any = UNIONS.slice(0, 2).map((name) => branchesIn(whole[name]));
  const base = Object.fromEntries(Object.entries(whole).filter(([name]) => !ROOT_ONLY.has(name)));
  if (all.length === 0 && any.every(({ length }) => length === 0)) return base;
  read.branches += any.reduce((sum, { length }) => sum + length, all.length);
  if (depth >= MAX_DEPTH || read.branches > MAX_BRANCHES) return anyObject(base);
  const flat = (branch: JsonObject) => withoutUnions(root, branch, depth + 1, read);
  const joined = joinedAll([base, ...all.map(flat)]);
  return any.reduce((one, branches) => (branches.length === 0 ? one : joinedAny(one, branches.map(flat))), joined);
}

function branchesIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}

function anyObject(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => !OBJECT_KEYWORDS.has(name)));
}

function propertiesOf({ properties }: JsonObject): JsonObject {
  return isRecord(properties) ? properties : {};
}

function requiredBy({ required }: JsonObject): readonly unknown[] {
  return Array.isArray(required) ? required : [];
}

/** All constraints of the first schema, and the properties of all of them; of two for one property the first. */
function joinedAll(parts: readonly JsonObject[]): JsonObject {
  const [first = {}, ...others] = parts;
  if (others.length === 0) return first;
  const properties: Record<string, unknown> = {};
  for (const part of parts)
    for (const [name, schema] of Object.entries(propertiesOf(part)))
      if (!Object.hasOwn(properties, name)) put(properties, name, schema);
  // Properties of the other parts are not those of the first, which may allow no others.
  return { ...anyObject(first), properties, required: [...new Set(parts.flatMap(requiredBy))] };
}

/** What a union says about one property. */
interface UnionProperty {
  readonly variants: Map<string, unknown>;
  /** The number of branches that allow other properties and have it. */
  open: number;
}

/** The base with the properties of the branches, one of which holds. */
function joinedAny(base: JsonObject, branches: readonly JsonObject[]): JsonObject {
  const objects = branches.filter(acceptsObjects);
  const openBranches = objects.filter((branch) => branch.additionalProperties !== false || branch.patternProperties);
  const found = new Map<string, UnionProperty>();
  const required = new Map<unknown, number>();
  for (const branch of objects) {
    const isOpen = branch.additionalProperties !== false || Boolean(branch.patternProperties);
    for (const [name, schema] of Object.entries(propertiesOf(branch))) {
      const property = found.get(name) ?? { variants: new Map(), open: 0 };
      found.set(name, property);
      property.variants.set(JSON.stringify(schema), schema);
      if (isOpen) property.open += 1;
    }
    for (const name of new Set(requiredBy(branch))) required.set(name, (required.get(name) ?? 0) + 1);
  }
  const properties: Record<string, unknown> = {};
  for (const [name, schema] of Object.entries(propertiesOf(base))) put(properties, name, schema);
  for (const [name, { variants, open }] of found) {
    if (Object.hasOwn(properties, name)) continue;
    // A branch without the property, and open to others, accepts any value of it.
    put(
      properties,
      name,
      open === openBranches.length ? oneOfThese([...variants.values()]) : described([...variants.values()]),
    );
  }
  const always = [...required].filter(([, count]) => count === objects.length).map(([name]) => name);
  return { ...anyObject(base), properties, required: [...new Set([...requiredBy(base), ...always])] };
}

function acceptsObjects({ type }: JsonObject): boolean {
  return type === undefined || [type].flat().includes('object');
}

function oneOfThese(variants: readonly unknown[]): unknown {
  return variants.length === 1 ? variants[0] : { anyOf: variants };
}

function described(variants: readonly unknown[]): JsonObject {
  const description = variants.filter(isRecord).find((variant) => typeof variant.description === 'string')?.description;
  return description === undefined ? {} : { description };
}

/** Assignment to `__proto__` would be lost. */
function put(properties: Record<string, unknown>, name: string, schema: unknown): void {
  Object.defineProperty(properties, name, { value: schema, enumerable: true, writable: true, configurable: true });
}
