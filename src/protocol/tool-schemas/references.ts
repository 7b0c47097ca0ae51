/** Looks up what a `$ref` of a JSON Schema refers to. */
import { isRecord, type JsonObject } from '../record.ts';

/** A chain of references that is longer ends nowhere. */
const MAX_HOPS = 32;

/** A longer reference leads nowhere: thousands of places may repeat it. */
const MAX_REFERENCE_LENGTH = 1024;

/** The schema at the reference; undefined if there is none in this document. */
export function schemaAt(root: JsonObject, reference: string): unknown {
  if (!reference.startsWith('#')) return undefined;
  if (reference === '#') return root;
  if (!reference.startsWith('#/') || reference.length > MAX_REFERENCE_LENGTH) return undefined;
  let place: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    let name: string;
    try {
      name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
    } catch {
      return undefined;
    }
    if (typeof place !== 'object' || place === null || !Object.hasOwn(place, name)) return undefined;
    // The cast: an object or a list has the property, as was checked.
    place = (place as JsonObject)[name];
  }
  return typeof place === 'boolean' || isRecord(place) ? place : undefined;
}

/** The schema, or at the end of its references the one that it stands for; fields beside a reference are added. */
export function resolveReferences(root: JsonObject, schema: JsonObject): JsonObject {
  let { $ref: reference, ...fields } = schema;
  for (let hop = 0; typeof reference === 'string'; hop += 1) {
    const target = hop < MAX_HOPS ? schemaAt(root, reference) : undefined;
    const { $ref: next, ...more }: JsonObject = isRecord(target) ? target : {};
    const { $defs: _, definitions: __, ...own } = more;
    fields = besideReference(target === root ? own : more, fields);
    reference = next;
  }
  return fields;
}

/** Keywords that mean something only together. */
const GROUPS: readonly ReadonlySet<string>[] = [
  new Set(['properties', 'patternProperties', 'additionalProperties', 'unevaluatedProperties']),
  new Set(['items', 'prefixItems', 'additionalItems', 'unevaluatedItems']),
  new Set(['if', 'then', 'else']),
  new Set(['contains', 'minContains', 'maxContains']),
  new Set(['minimum', 'exclusiveMinimum']),
  new Set(['maximum', 'exclusiveMaximum']),
];

/**
 * A schema with the keywords beside its reference, which replace its own: keeping one of two constraints is looser. What the
 * keywords say of values that nothing else describes is left out, since the schema describes some.
 */
export function besideReference(target: JsonObject, keywords: JsonObject): JsonObject {
  const { unevaluatedProperties: _, unevaluatedItems: __, ...own } = keywords;
  const names = Object.keys(own);
  const replaced = GROUPS.filter((group) => names.some((name) => group.has(name)));
  const rest = Object.entries(target).filter(([name]) => !replaced.some((group) => group.has(name)));
  const { properties: described } = target;
  const properties =
    isRecord(described) && isRecord(own.properties) ? { properties: { ...described, ...own.properties } } : {};
  return { ...Object.fromEntries(rest), ...own, ...properties };
}
