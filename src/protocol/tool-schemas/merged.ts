/** Writes a union of JSON Schemas for objects as one schema that accepts everything which the union accepts. */
import { leastBytes } from '../json/json-size.ts';
import { isRecord, type JsonObject, recordsIn } from '../record.ts';
import { resolveReferences } from './references.ts';

/** Unions within unions are read to this depth and up to so many branches, and count as any object beyond. */
const MAX_DEPTH = 8;
const MAX_BRANCHES = 1000;

/** What the unions of a schema may read in all, in bytes of JSON: so often the schema, and so much besides. */
const MAX_READINGS = 2;
const MIN_BUDGET = 50_000;
/** About what a keyword, a property or a required name takes. */
const MEMBER_BYTES = 8;

/** What the unions of one schema may still read: thousands of branches may refer to one definition, however long it is. */
export class UnionBudget {
  private readonly root: JsonObject;
  private read = 0;
  /** Measured once it matters: most schemas have few unions, or none. */
  private most: number | undefined;
  private readonly texts = new Map<unknown, string>();

  constructor(root: JsonObject) {
    this.root = root;
  }

  /** Whether nothing more may be read. */
  get isSpent(): boolean {
    if (this.read <= MIN_BUDGET) return false;
    this.most ??= MIN_BUDGET + MAX_READINGS * leastBytes(this.root);
    return this.read > this.most;
  }

  /** Counts the members of a schema. */
  take(schema: JsonObject): void {
    const members = [schema, readProperties(schema)].reduce((sum, each) => sum + Object.keys(each).length, 0);
    this.read += MEMBER_BYTES * (members + readRequired(schema).length);
  }

  /** The JSON of a property's schema, by which it is compared with those of other branches. */
  textOf(schema: unknown): string {
    let text = this.texts.get(schema);
    if (text !== undefined) return text;
    try {
      text = JSON.stringify(schema);
      this.read += text.length;
    } catch {
      // It is nested deeper than the stack.
      text = '';
      this.read = Number.POSITIVE_INFINITY;
    }
    this.texts.set(schema, text);
    return text;
  }
}

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
export function withoutUnions(
  root: JsonObject,
  schema: JsonObject,
  budget: UnionBudget,
  depth = 0,
  read = { branches: 0 },
): JsonObject {
  if (budget.isSpent) return {};
  const whole = resolveReferences(root, schema);
  budget.take(whole);
  const [any = [], one = [], all = []] = UNIONS.map((name) => {
    const branches = whole[name];
    return recordsIn(branches);
  });
  const base = Object.fromEntries(Object.entries(whole).filter(([name]) => !ROOT_ONLY.has(name)));
  const count = any.length + one.length + all.length;
  if (count === 0) return base;
  read.branches += count;
  if (depth >= MAX_DEPTH || read.branches > MAX_BRANCHES) return anyObject(base);
  const flat = (branch: JsonObject) => withoutUnions(root, branch, budget, depth + 1, read);
  let merged = mergeAll([base, ...all.map(flat)]);
  if (any.length > 0) merged = mergeAny(merged, any.map(flat), budget);
  if (one.length > 0) merged = mergeAny(merged, one.map(flat), budget);
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
function mergeAny(base: JsonObject, branches: readonly JsonObject[], budget: UnionBudget): JsonObject {
  const objects = branches.filter(({ type }) => type === undefined || [type].flat().includes('object'));
  const openBranches = objects.filter((branch) => branch.additionalProperties !== false || branch.patternProperties);
  const found = new Map<string, UnionProperty>();
  const required = new Map<unknown, number>();
  for (const branch of objects) {
    const isOpen = branch.additionalProperties !== false || Boolean(branch.patternProperties);
    for (const [name, schema] of Object.entries(readProperties(branch))) {
      const property = found.get(name) ?? { variants: new Map(), open: 0 };
      found.set(name, property);
      property.variants.set(budget.textOf(schema), schema);
      if (budget.isSpent) return anyObject(base);
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
