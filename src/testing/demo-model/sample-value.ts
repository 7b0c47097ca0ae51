/** Makes a value that fits a JSON Schema: the arguments of a call, or a structured answer. */

type Schema = Readonly<Record<string, unknown>>;

/** Where in the schema a value stands. */
interface Place {
  readonly root: Schema;
  /** The property's name, from which its text is made. */
  readonly name: string;
  readonly depth: number;
  /** Words to use for strings before any are made up. */
  readonly words: Iterator<string>;
}

/** Below this depth, only required members are made; a schema that refers to itself ends here. */
const ROOMY_DEPTH = 4;
const MAX_DEPTH = 32;

/** The value; strings take the words in their order. Patterns and conditions of the schema are ignored. */
export function sampleValue(schema: unknown, words: readonly string[] = []): unknown {
  const root = asSchema(schema);
  return sample(root, { root, name: 'value', depth: 0, words: words.values() });
}

function sample(schema: Schema, place: Place): unknown {
  if (place.depth > MAX_DEPTH) return null;
  const whole = resolved(schema, place);
  const fixed = [whole.const, whole.default, Array.isArray(whole.enum) ? whole.enum[0] : undefined].find(
    (value) => value !== undefined,
  );
  if (fixed !== undefined) return fixed;
  switch (schemaType(whole, place)) {
    case 'object':
      return sampleObject(whole, place);
    case 'array':
      return sampleArray(whole, place);
    case 'integer':
    case 'number':
      return sampleNumber(whole);
    case 'boolean':
      return true;
    case 'null':
      return null;
    default:
      return sampleText(whole, place);
  }
}

/** The schema with its reference followed, its parts joined and its first fitting variant taken. */
function resolved(schema: Schema, place: Place): Schema {
  const { $ref, allOf, anyOf, oneOf, ...rest } = schema;
  if (place.depth > MAX_DEPTH) return rest;
  const inner = { ...place, depth: place.depth + 1 };
  if (typeof $ref === 'string') return resolved({ ...lookUp(place.root, $ref), ...rest }, inner);
  if (Array.isArray(allOf)) return combineSchemas([rest, ...allOf.map((part) => resolved(asSchema(part), inner))]);
  const variants = anyOf ?? oneOf;
  if (!Array.isArray(variants)) return rest;
  return combineSchemas([rest, resolved(firstVariant(variants.map(asSchema), place), inner)]);
}

function lookUp(root: Schema, reference: string): Schema {
  const path = reference.replace(/^#\/?/, '').split('/').filter(Boolean);
  return path.reduce((at, key) => asSchema(at[key]), root);
}

function combineSchemas(schemas: readonly Schema[]): Schema {
  const properties = Object.assign({}, ...schemas.map((schema) => schema.properties));
  const required = schemas.flatMap((schema) => schema.required ?? []);
  const isObject = schemas.some((schema) => schema.properties);
  return Object.assign({}, ...schemas, isObject ? { properties, required } : {});
}

function firstVariant(variants: readonly Schema[], { depth }: Place): Schema {
  const isNull = (schema: Schema) => schema.type === 'null';
  const preferred = depth > ROOMY_DEPTH ? variants.find(isNull) : variants.find((schema) => !isNull(schema));
  return preferred ?? variants[0] ?? {};
}

function schemaType({ type, properties, items }: Schema, { depth }: Place): unknown {
  if (Array.isArray(type)) return depth > ROOMY_DEPTH && type.includes('null') ? 'null' : type[0];
  if (type !== undefined) return type;
  if (properties) return 'object';
  return items ? 'array' : 'string';
}

/** The required members, or all of them if the schema does not list which are required. */
function sampleObject({ properties, required }: Schema, place: Place): unknown {
  const known = asSchema(properties);
  const wanted = Array.isArray(required) ? required : place.depth > ROOMY_DEPTH ? [] : Object.keys(known);
  const entry = (name: string) =>
    [name, sample(asSchema(known[name]), { ...place, depth: place.depth + 1, name })] as const;
  return Object.fromEntries(wanted.map(entry));
}

function sampleArray({ items, prefixItems, minItems, maxItems }: Schema, place: Place): unknown {
  const heads = Array.isArray(prefixItems) ? prefixItems : [];
  const plausible = place.depth > ROOMY_DEPTH || maxItems === 0 ? 0 : 1;
  const length = Math.max(heads.length, Number(minItems ?? 0), plausible);
  const inner = { ...place, depth: place.depth + 1 };
  return Array.from({ length }, (_, index) => sample(asSchema(heads[index] ?? items), inner));
}

/** A number from the middle of the allowed range, so that either bound may be missing. */
function sampleNumber({ type, minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf }: Schema): number {
  const low = Number(minimum ?? exclusiveMinimum ?? Number.NEGATIVE_INFINITY);
  const high = Number(maximum ?? exclusiveMaximum ?? Number.POSITIVE_INFINITY);
  const middle = middleNumber(low, high);
  const step = Number(multipleOf ?? (type === 'integer' ? 1 : 0));
  if (step === 0) return middle;
  const above = Math.ceil(middle / step) * step;
  return above > high || above === exclusiveMaximum ? above - step : above;
}

function middleNumber(low: number, high: number): number {
  if (Number.isFinite(low) && Number.isFinite(high)) return (low + high) / 2;
  return Number.isFinite(low) ? low + 1 : Math.min(1, high - 1);
}

const FORMATS: Readonly<Record<string, string>> = {
  date: '2026-11-20',
  time: '12:00:00Z',
  'date-time': '2026-11-20T12:00:00Z',
  email: 'someone@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
  ipv4: '192.0.2.1',
  hostname: 'example.com',
};

function sampleText({ format, minLength, maxLength }: Schema, { name, words }: Place): string {
  const known = FORMATS[String(format)];
  if (known !== undefined) return known;
  const text: string = words.next().value ?? `some ${name}`;
  return text.padEnd(Number(minLength ?? 0), '.').slice(0, Number(maxLength ?? Number.POSITIVE_INFINITY));
}

/** The schema as an object; `true`, `false` and a missing schema count as an empty one. */
function asSchema(value: unknown): Schema {
  // The cast: an object that is parsed JSON has string keys.
  return typeof value === 'object' && value !== null ? (value as Schema) : {};
}
