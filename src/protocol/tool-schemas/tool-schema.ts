/** Loosens the JSON Schema of a tool until a model server accepts it, whoever wrote the tool. */
import { SCHEMA_MAPS } from '../json/schema-keywords.ts';
import { isRecord, type JsonObject, recordsIn } from '../record.ts';
import { DIALECT_RULES, type DialectRules, type SchemaDialect } from './dialects.ts';
import { setProperty, UnionBudget, withoutUnions } from './merged.ts';
import { besideReference, resolveReferences, schemaAt } from './references.ts';

/** A reference that stays valid wherever it stands: to the whole schema, or to one of its definitions. */
const LASTING_REFERENCE = /^#(?:\/(?:\$defs|definitions)\/[^/]+)?$/;

/** A schema as a server accepts it. */
export interface LooseSchema {
  readonly schema: JsonObject;
  /** The keywords that were left out and may have refused a value. */
  readonly lost: readonly string[];
}

/** A schema is read to this depth, and accepts anything below it. */
const MAX_DEPTH = 64;
/** Maximum values that are copied where a server knows no references; a reference beyond it accepts anything. */
const MAX_COPIED = 20_000;

/**
 * The schema of an object which accepts every object that the original accepts, without references that lead nowhere.
 * Loosening it again changes nothing. The original remains what arguments are checked against.
 */
export function looseSchema(original: unknown, dialect: SchemaDialect): LooseSchema {
  const rules = DIALECT_RULES[dialect];
  const root = isRecord(original) ? original : {};
  const walk = new Walk(rules, root);
  const { $schema: _, ...whole } = resolveReferences(root, root);
  const flat = rules.rootUnions ? whole : withoutUnions(root, whole, walk.unions);
  if (!rules.rootUnions && (whole.anyOf || whole.oneOf || whole.allOf)) walk.lost.add('anyOf');
  // The definitions of the root stay there, whatever the root has become.
  const { $defs = flat.$defs, definitions = flat.definitions } = root;
  const loose = walk.schema({ ...flat, $defs, definitions, type: 'object' }, 0);
  const fields = isRecord(loose) ? loose : {};
  const schema = { ...fields, type: 'object', properties: isRecord(fields.properties) ? fields.properties : {} };
  return { schema, lost: [...walk.lost].toSorted() };
}

/** Keywords that refuse no value. */
const ANNOTATIONS: ReadonlySet<string> = new Set([
  '$schema',
  '$id',
  'id',
  '$anchor',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
  'nullable',
]);
/** Keywords whose values are schemas by name, lists of schemas, and single ones. */
const MAPS: ReadonlySet<string> = new Set(SCHEMA_MAPS);
const LISTS: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'prefixItems']);
const SINGLE: ReadonlySet<string> = new Set([
  'items',
  'additionalProperties',
  'propertyNames',
  'then',
  'else',
  'additionalItems',
]);
/** A looser schema in one of these makes the whole stricter. */
const NEGATIVE: ReadonlySet<string> = new Set(['not', 'if', 'contains', 'unevaluatedProperties', 'unevaluatedItems']);
const COUNTS: ReadonlySet<string> = new Set([
  'minLength',
  'maxLength',
  'minItems',
  'maxItems',
  'minProperties',
  'maxProperties',
]);
const NUMBERS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
]);
const TYPES: ReadonlySet<unknown> = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null']);

/** One pass over a schema. */
class Walk {
  readonly lost = new Set<string>();
  readonly unions: UnionBudget;
  private readonly rules: DialectRules;
  private readonly root: JsonObject;
  /** How often something has changed, and how many references were seen: where looser is stricter, neither may be. */
  private changes = 0;
  private copied = 0;
  private readonly copying = new Set<string>();

  constructor(rules: DialectRules, root: JsonObject) {
    this.rules = rules;
    this.root = root;
    this.unions = new UnionBudget(root);
  }

  schema(schema: unknown, depth: number): unknown {
    if (typeof schema === 'boolean') return this.boolean(schema);
    if (!isRecord(schema)) return this.anything('type');
    if (depth > MAX_DEPTH) return this.anything('depth');
    if (typeof schema.$ref === 'string') return this.reference(schema, schema.$ref, depth);
    return this.lacks('allOf') && Array.isArray(schema.allOf)
      ? this.mergedAllOf(schema, depth)
      : this.object(schema, depth);
  }

  private lacks(name: string): boolean {
    const { keywords, refused } = this.rules;
    return keywords?.has(name) === false || refused?.has(name) === true;
  }

  private boolean(value: boolean): unknown {
    if (this.rules.booleans) return value;
    this.changes += 1;
    return value ? {} : this.anything('false');
  }

  private anything(why: string): JsonObject {
    this.leaveOut(why);
    return {};
  }

  private leaveOut(name: string): void {
    this.changes += 1;
    if (!ANNOTATIONS.has(name) && !name.startsWith('x-')) this.lost.add(name);
  }

  private reference({ $ref: _, ...keywords }: JsonObject, reference: string, depth: number): unknown {
    this.changes += 1;
    const target = schemaAt(this.root, reference);
    // The definitions are kept.
    if (this.rules.references && LASTING_REFERENCE.test(reference) && target !== undefined)
      return { ...this.object(keywords, depth), $ref: reference };
    if (target === undefined || !this.mayCopy([reference], target)) {
      this.leaveOut('$ref');
      return this.object(keywords, depth);
    }
    if (typeof target === 'boolean') return this.schema(target, depth);
    // The cast: what is neither a boolean nor undefined is an object.
    const { $defs: __, definitions: ___, ...whole } = target as JsonObject;
    return this.copy([reference], besideReference(whole, keywords), depth);
  }

  /** Not within its own copy, nor beyond the limit. */
  private mayCopy(references: readonly string[], value: unknown): boolean {
    if (references.some((reference) => this.copying.has(reference))) return false;
    // The number of values in it, counted no further than the limit.
    let size = 0;
    const waiting: unknown[] = [value];
    while (waiting.length > 0 && size < MAX_COPIED - this.copied + 1) {
      const next = waiting.pop();
      size += 1;
      if (typeof next === 'object' && next !== null) for (const each of Object.values(next)) waiting.push(each);
    }
    this.copied += size;
    return this.copied <= MAX_COPIED;
  }

  private copy(references: readonly string[], schema: JsonObject, depth: number): unknown {
    for (const reference of references) this.copying.add(reference);
    const copy = this.schema(schema, depth + 1);
    for (const reference of references) this.copying.delete(reference);
    return copy;
  }

  /** `allOf`, for a server that lacks it. */
  private mergedAllOf(schema: JsonObject, depth: number): unknown {
    this.leaveOut('allOf');
    const { anyOf, oneOf, enum: values, const: value, allOf, ...rest } = schema;
    const merged = this.unions.isSpent ? rest : withoutUnions(this.root, { ...rest, allOf }, this.unions);
    const own = Object.entries({ anyOf, oneOf, enum: values, const: value }).filter(([, each]) => each !== undefined);
    const whole = { ...merged, ...Object.fromEntries(own) };
    const branches = recordsIn(allOf);
    const references = branches.flatMap(({ $ref }) => (typeof $ref === 'string' ? [$ref] : []));
    return this.mayCopy(references, whole) ? this.copy(references, whole, depth) : this.anything('allOf');
  }

  private object(schema: JsonObject, depth: number): JsonObject {
    const loose: Record<string, unknown> = {};
    const before = this.changes;
    for (const [name, value] of Object.entries(schema)) {
      if (value === undefined) continue;
      if (!this.take(loose, name, value, depth)) this.leaveOut(name);
    }
    this.adjustRelated(loose, schema);
    // What is left out may have evaluated them.
    for (const name of ['unevaluatedProperties', 'unevaluatedItems'])
      if (this.changes > before && loose[name] !== undefined) {
        delete loose[name];
        this.leaveOut(name);
      }
    return loose;
  }

  /** Whether the keyword could be taken over, in this form or in another. */
  private take(loose: Record<string, unknown>, name: string, value: unknown, depth: number): boolean {
    if (name === 'oneOf' && Array.isArray(value) && value.length > 0) return this.takeOneOf(loose, value, depth);
    // What it may be instead is decided with the rest of the schema.
    if (this.lacks(name) && !(name === 'const' && this.rules.simpleTypes)) return false;
    const taken = this.looseValue(name, value, depth);
    if (taken === undefined) return false;
    setProperty(loose, name, taken);
    return true;
  }

  /** Of looser branches more than one may hold. */
  private takeOneOf(loose: Record<string, unknown>, value: readonly unknown[], depth: number): boolean {
    const before = this.changes;
    const branches = value.map((each) => this.schema(each, depth + 1));
    if (this.changes === before && !this.lacks('oneOf')) setProperty(loose, 'oneOf', branches);
    else if (loose.anyOf === undefined) {
      setProperty(loose, 'anyOf', branches);
      this.leaveOut('oneOf');
    } else return false;
    return true;
  }

  /** The value that is sent; undefined if there is none. */
  private looseValue(name: string, value: unknown, depth: number): unknown {
    const { maxCount = Number.POSITIVE_INFINITY } = this.rules;
    if (name === '$defs' || name === 'definitions')
      return depth === 0 && isRecord(value) ? this.looseMap(name, value, depth) : undefined;
    if (MAPS.has(name)) return isRecord(value) ? this.looseMap(name, value, depth) : undefined;
    if (LISTS.has(name))
      return Array.isArray(value) && value.length > 0 ? value.map((each) => this.schema(each, depth + 1)) : undefined;
    if (name === 'additionalProperties' && typeof value === 'boolean') return value;
    if (SINGLE.has(name))
      return typeof value === 'boolean' || isRecord(value) ? this.schema(value, depth + 1) : undefined;
    if (NEGATIVE.has(name)) return this.unchangedValue(value, depth);
    if (COUNTS.has(name))
      return Number.isInteger(value) && Number(value) >= 0 && Number(value) <= maxCount ? value : undefined;
    if (NUMBERS.has(name)) return typeof value === 'number' ? value : undefined;
    if (name === 'type') {
      if (!Array.isArray(value)) return TYPES.has(value) ? value : undefined;
      return value.length > 0 && value.every((type) => TYPES.has(type)) ? value : undefined;
    }
    if (name === 'enum') return Array.isArray(value) && value.length > 0 ? value : undefined;
    if (name === 'required')
      return Array.isArray(value) && value.every((each) => typeof each === 'string') ? value : undefined;
    if (TEXTS.has(name)) return typeof value === 'string' ? value : undefined;
    return PLACES.has(name) ? undefined : value;
  }

  private unchangedValue(value: unknown, depth: number): unknown {
    const before = this.changes;
    const lost = new Set(this.lost);
    const same = this.schema(value, depth + 1);
    if (this.changes === before) return same;
    // What is left out with the whole is not lost by itself.
    for (const each of this.lost) if (!lost.has(each)) this.lost.delete(each);
    return undefined;
  }

  private looseMap(name: string, schemas: JsonObject, depth: number): JsonObject {
    const { propertyName } = this.rules;
    const loose: Record<string, unknown> = {};
    for (const [key, schema] of Object.entries(schemas)) {
      if (name !== 'properties' || !propertyName || propertyName.test(key))
        setProperty(loose, key, this.schema(schema, depth + 1));
    }
    return loose;
  }

  /** What one keyword means for another. */
  private adjustRelated(loose: Record<string, unknown>, schema: JsonObject): void {
    const { itemsRequired, simpleTypes, propertyName } = this.rules;
    const drop = (name: string) => {
      if (!Object.hasOwn(loose, name)) return;
      delete loose[name];
      this.leaveOut(name);
    };
    const names = isRecord(schema.properties) ? Object.keys(schema.properties) : [];
    if (propertyName && names.some((name) => !propertyName.test(name))) {
      drop('additionalProperties');
      this.leaveOut('properties');
      if (Array.isArray(loose.required))
        loose.required = loose.required.filter((name) => propertyName.test(String(name)));
    }
    // A property that matches a pattern is allowed beside those that are listed.
    if (schema.patternProperties !== undefined && loose.patternProperties === undefined) drop('additionalProperties');
    if (schema.if !== undefined && loose.if === undefined) for (const name of ['then', 'else']) drop(name);
    if (schema.contains !== undefined && loose.contains === undefined)
      for (const name of ['minContains', 'maxContains']) drop(name);
    if (schema.prefixItems !== undefined && loose.prefixItems === undefined) drop('items');
    // Tuples of older drafts.
    if (Array.isArray(schema.items)) drop('additionalItems');
    if (simpleTypes) this.simplify(loose, drop);
    if (itemsRequired && loose.type === 'array' && loose.items === undefined) loose.items = {};
  }

  private simplify(loose: Record<string, unknown>, drop: (name: string) => void): void {
    if (loose.const !== undefined) {
      if (typeof loose.const === 'string' && loose.enum === undefined) loose.enum = [loose.const];
      drop('const');
    }
    if (Array.isArray(loose.enum) && !loose.enum.every((value) => typeof value === 'string')) drop('enum');
    if (loose.enum !== undefined) loose.type = 'string';
    if (Array.isArray(loose.type)) this.separateTypes(loose, loose.type);
    if (Array.isArray(loose.required)) {
      const properties = isRecord(loose.properties) ? loose.properties : {};
      const required = loose.required.filter((name) => Object.hasOwn(properties, String(name)));
      if (required.length < loose.required.length) this.leaveOut('required');
      loose.required = required;
    }
  }

  private separateTypes(loose: Record<string, unknown>, types: readonly unknown[]): void {
    this.changes += 1;
    delete loose.type;
    if (types.length === 1) loose.type = types[0];
    else if (loose.anyOf === undefined)
      loose.anyOf = types.map((type) => (type === 'array' ? { type, items: {} } : { type }));
    else this.leaveOut('type');
  }
}

const TEXTS: ReadonlySet<string> = new Set(['description', 'title', 'pattern', 'format']);
/** They give a schema a name or a place, to which no reference is kept. */
const PLACES: ReadonlySet<string> = new Set([
  '$id',
  'id',
  '$anchor',
  '$dynamicRef',
  '$dynamicAnchor',
  '$recursiveRef',
  '$recursiveAnchor',
]);
