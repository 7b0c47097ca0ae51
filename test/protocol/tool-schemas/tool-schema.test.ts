/** Schemas of tools as each kind of server accepts them: laws over random ones, over real ones, and examples. */

import { Ajv2020 } from 'ajv/dist/2020.js';
import fc from 'fast-check';
import { isRecord, type JsonObject } from '../../../src/protocol/record.ts';
import { DIALECT_RULES, SCHEMA_DIALECTS, type SchemaDialect } from '../../../src/protocol/tool-schemas/dialects.ts';
import { looseSchema } from '../../../src/protocol/tool-schemas/tool-schema.ts';
import { expectLinearWork } from '../../support/linear-work.ts';
import { describeShared, listShared, readShared } from '../../support/shared.ts';

const NAMES = ['a', 'b', 'not ok', '__proto__'] as const;
const LEAVES = ['x', 'yy', 1, 2.5, true, null] as const;
const names = fc.constantFrom(...NAMES);

const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', maxDepth: 3 },
    fc.constantFrom<unknown>(...LEAVES),
    fc.array(tie('value'), { maxLength: 3 }),
    tie('object'),
  ),
  object: fc.dictionary(names, tie('value'), { maxKeys: 3 }),
})).object;

/** Schemas of all keywords that matter, valid and odd. */
const schemas = fc.letrec((tie) => {
  const sub = tie('schema');
  const list = fc.array(sub, { minLength: 1, maxLength: 3 });
  const map = fc.dictionary(names, sub, { maxKeys: 3 });
  return {
    schema: fc.oneof(
      { depthSize: 'small', maxDepth: 3 },
      fc.constantFrom<unknown>(true, {}, { type: 'string' }, { type: ['string', 'null'] }, { type: 'integer' }),
      fc.constantFrom<unknown>({ $ref: '#' }, { $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }, { $ref: '#/properties/a' }),
      fc.constantFrom<unknown>(
        { $ref: '#/nowhere' },
        { $ref: 'https://example.com/x' },
        { $ref: '#/$defs/a', minLength: 2 },
      ),
      tie('node'),
    ),
    node: fc.record(
      {
        type: fc.constantFrom<unknown>('object', 'array', 'string', ['object', 'null'], ['array', 'string', 'integer']),
        properties: map,
        required: fc.uniqueArray(names, { maxLength: 2 }),
        additionalProperties: fc.oneof(fc.boolean(), sub),
        patternProperties: fc.dictionary(fc.constantFrom('^a', 'o'), sub, { maxKeys: 1 }),
        items: sub,
        prefixItems: list,
        anyOf: list,
        oneOf: list,
        allOf: list,
        not: sub,
        if: sub,
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
        then: sub,
        else: sub,
        contains: sub,
        minContains: fc.constantFrom(0, 2),
        maxContains: fc.constantFrom(1),
        propertyNames: sub,
        unevaluatedProperties: fc.oneof(fc.constant(false), sub),
        unevaluatedItems: fc.constant(false),
        enum: fc.constantFrom<readonly unknown[]>(['x', 'yy'], ['x', 1, null]),
        const: fc.constantFrom<unknown>('x', 1),
        pattern: fc.constant('^x'),
        minLength: fc.constantFrom(0, 2, 1000),
        maxLength: fc.constantFrom(1, 100_000),
        minimum: fc.constantFrom(1, 2),
        maxItems: fc.constantFrom(1, 100_000),
        minProperties: fc.constantFrom(1),
        description: fc.constant('About.'),
      },
      { requiredKeys: [] },
    ),
    root: fc
      .tuple(tie('node'), fc.option(fc.record({ a: sub, b: sub }, { requiredKeys: [] }), { nil: undefined }))
      .map(([node, $defs]) => ({ ...asObject(node), ...($defs ? { $defs } : {}) })),
  };
}).root;

function asObject(value: unknown): JsonObject {
  return isRecord(value) ? value : {};
}

/** One for all: it compiles first what a schema is. */
const ajv = new Ajv2020({
  ...{ strict: false, logger: false, validateFormats: false, addUsedSchema: false },
  code: { optimize: false },
});

/** Whether the value is accepted; undefined for a schema that is none, or that never ends. */
function accepts(schema: unknown, value: unknown): boolean | undefined {
  try {
    // The casts: Ajv refuses what is no schema by an error.
    return ajv.compile(schema as object)(value) as boolean;
  } catch {
    return undefined;
  } finally {
    ajv.removeSchema(schema as object);
  }
}

function references(schema: unknown): readonly string[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return Object.entries(schema).flatMap(([name, value]) =>
    name === '$ref' && typeof value === 'string' ? [value] : references(value),
  );
}

function found(root: unknown, reference: string): unknown {
  return reference
    .split('/')
    .slice(1)
    .reduce<unknown>((place, part) => asObject(place)[part.replaceAll('~1', '/').replaceAll('~0', '~')], root);
}

// Each run draws other schemas: the seed follows the commit.
const numRuns = 12;

describe('the schema of a tool for any dialect', () => {
  it('[V-23] accepts every object that the original accepts', () => {
    fc.assert(
      fc.property(schemas, fc.array(values, { minLength: 1, maxLength: 4 }), (schema, objects) => {
        const accepted = objects.filter((object) => accepts(schema, object));
        for (const dialect of SCHEMA_DIALECTS) {
          const loose = looseSchema(schema, dialect).schema;
          for (const object of accepted) expect([loose, object, accepts(loose, object)]).toEqual([loose, object, true]);
        }
      }),
      { numRuns },
    );
  });

  it('[V-23] is an object with properties, refers to nothing that is not there, and changes no more', () => {
    fc.assert(
      fc.property(schemas, fc.constantFrom(...SCHEMA_DIALECTS), (schema, dialect) => {
        const { schema: loose } = looseSchema(schema, dialect);
        expect(loose).toMatchObject({ type: 'object', properties: {} });
        expect(references(loose).filter((reference) => found(loose, reference) === undefined)).toEqual([]);
        expect(looseSchema(loose, dialect)).toEqual({ schema: loose, lost: [] });
        expect(keywordsIn(loose, dialect)).toEqual([]);
      }),
      { numRuns: numRuns * 5 },
    );
  });
});

/** The keywords that the dialect lacks. */
function keywordsIn(schema: unknown, dialect: SchemaDialect): readonly string[] {
  const { keywords, refused } = DIALECT_RULES[dialect];
  if (!isRecord(schema)) return [];
  return Object.entries(schema).flatMap(([name, value]) => {
    const own = keywords?.has(name) === false || refused?.has(name) ? [name] : [];
    if (MAPS.has(name)) return [...own, ...Object.values(asObject(value)).flatMap((each) => keywordsIn(each, dialect))];
    return [
      ...own,
      ...[value].flat().flatMap((each) => (name === 'enum' || name === 'const' ? [] : keywordsIn(each, dialect))),
    ];
  });
}

const MAPS: ReadonlySet<string> = new Set([
  'properties',
  'patternProperties',
  '$defs',
  'definitions',
  'dependentSchemas',
]);

describe('the schema of a tool', () => {
  const object = (properties: JsonObject, more: JsonObject = {}) => ({ type: 'object', properties, ...more });

  const examples: readonly (readonly [string, SchemaDialect, unknown, JsonObject, readonly string[]])[] = [
    ['has properties', 'any', { $schema: 'x', title: 'Empty', type: 'object' }, { ...object({}), title: 'Empty' }, []],
    ['is an object, if it is nothing', 'any', null, object({}), []],
    ['is an object, if it is true', 'any', true, object({}), []],
    [
      'is what it refers to',
      'any',
      { $ref: '#/$defs/a', $defs: { a: object({ x: { type: 'string' } }) } },
      { ...object({ x: { type: 'string' } }), $defs: { a: object({ x: { type: 'string' } }) } },
      [],
    ],
    [
      'refers to nothing elsewhere',
      'any',
      object({ a: { $ref: 'https://example.com/x', description: 'A.' } }),
      object({ a: { description: 'A.' } }),
      ['$ref'],
    ],
    [
      'is no union for Anthropic',
      'anthropic',
      {
        oneOf: [
          object(
            { id: { type: 'string' }, kind: { const: 1 } },
            { required: ['id', 'kind'], additionalProperties: false },
          ),
          object({ id: { type: 'integer' } }, { required: ['id'], additionalProperties: false }),
        ],
      },
      { ...object({ id: { anyOf: [{ type: 'string' }, { type: 'integer' }] }, kind: { const: 1 } }), required: ['id'] },
      ['anyOf'],
    ],
    [
      'has no patterns for llama.cpp',
      'llama.cpp',
      object({
        list: { type: 'array', items: { type: 'string', pattern: '^(?!x)', format: 'uri', maxLength: 65_535 } },
      }),
      object({ list: { type: 'array', items: { type: 'string' } } }),
      ['format', 'maxLength', 'pattern'],
    ],
    [
      'has no references for Gemini, even if they go round in circles',
      'gemini',
      object(
        { tree: { $ref: '#/$defs/node' } },
        {
          $defs: {
            node: object(
              { next: { $ref: '#/$defs/node' }, name: { type: ['string', 'null'] } },
              { additionalProperties: false },
            ),
          },
        },
      ),
      object({ tree: object({ next: {}, name: { anyOf: [{ type: 'string' }, { type: 'null' }] } }) }),
      ['$ref', 'additionalProperties'],
    ],
    [
      'has the properties of what it refers to beside its own, and allows them',
      'any',
      {
        $ref: '#/$defs/a',
        properties: { x: { type: 'string' } },
        unevaluatedProperties: false,
        $defs: { a: { properties: { y: { type: 'integer' } } } },
      },
      {
        ...object({ y: { type: 'integer' }, x: { type: 'string' } }),
        $defs: { a: { properties: { y: { type: 'integer' } } } },
      },
      [],
    ],
    [
      'allows what a part of it names that the server does not know',
      'openai',
      // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema.
      object({}, { if: { required: ['a'] }, then: { properties: { a: true } }, unevaluatedProperties: false }),
      object({}),
      [],
    ],
    [
      'says what lists hold, for OpenAI',
      'openai',
      object({ all: { type: 'array' } }),
      object({ all: { type: 'array', items: {} } }),
      [],
    ],
  ];

  it.each(examples)('[V-23] %s (%s)', (_, dialect, original, schema, lost) => {
    const before = JSON.stringify(original);
    expect(looseSchema(original, dialect)).toEqual({ schema, lost });
    expect(JSON.stringify(original)).toBe(before);
  });

  it('[V-23] takes no more work than the schema is long, whatever refers to what', () => {
    const wide = Array.from({ length: 300 }, () => ({ $ref: '#/$defs/a' }));
    const doubled = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [
        `d${at}`,
        object({ x: { $ref: `#/$defs/d${at + 1}` }, y: { $ref: `#/$defs/d${at + 1}` } }),
      ]),
    );
    let deep: JsonObject = {};
    for (let at = 0; at < 5_000; at += 1) deep = { not: deep };
    const hostile = [
      { allOf: wide, $defs: { a: { allOf: wide } } },
      object({ x: { allOf: wide } }, { $defs: { a: { anyOf: wide, allOf: wide } } }),
      object({ x: { $ref: '#/$defs/d0' } }, { $defs: doubled }),
      object({ deep }),
    ];
    for (const schema of hostile)
      for (const dialect of SCHEMA_DIALECTS)
        expect(JSON.stringify(looseSchema(schema, dialect).schema).length).toBeLessThan(3_000_000);
  });

  const named = (count: number, value: (at: number) => unknown) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, value(at)]));
  const branches = (size: number, branch: JsonObject) => Array.from({ length: size / 8 }, () => branch);
  const shared: Readonly<Record<string, (size: number) => JsonObject>> = {
    'branches with many properties': (size) => ({
      anyOf: branches(size, { $ref: '#/$defs/a' }),
      $defs: { a: object(named(size, () => ({}))) },
    }),
    'branches of parts with many properties': (size) => ({
      allOf: branches(size, { $ref: '#/$defs/a', properties: { b: {} } }),
      $defs: { a: object(named(size, () => ({}))) },
    }),
    'branches that require much': (size) => ({
      anyOf: branches(size, { $ref: '#/$defs/a' }),
      $defs: { a: { required: Array.from({ length: size }, (_, at) => `p${at}`) } },
    }),
    'branches with many keywords': (size) => ({
      anyOf: branches(size, { $ref: '#/$defs/a' }),
      $defs: { a: { anyOf: [{ $ref: '#/$defs/b' }] }, b: named(size, () => 1) },
    }),
    'branches with unions of a long property': (size) => {
      const long = (text: string) => object({ x: { enum: Array.from({ length: size }, (_, at) => text + at) } });
      const union = { anyOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/b' }] };
      return { anyOf: branches(size, { $ref: '#/$defs/c' }), $defs: { a: long('a'), b: long('b'), c: union } };
    },
    'properties of parts with many properties': (size) =>
      object(
        named(size, () => ({ allOf: [{ $ref: '#/$defs/a' }, { $ref: '#/$defs/a' }] })),
        {
          $defs: { a: object(named(size, () => ({}))) },
        },
      ),
    'properties with a long reference': (size) =>
      object(
        named(size, () => ({ $ref: '#/$defs/a' })),
        { $defs: { a: { $ref: `#${'/$defs'.repeat(size)}` } } },
      ),
  };

  it.each(Object.entries(shared))('[F-04] [V-23] takes linear work for a schema of %s', async (_, schema) => {
    for (const dialect of ['openai', 'plain'] as const)
      await expectLinearWork(8000, (size) => looseSchema(schema(size), dialect));
  });

  it('[V-23] accepts anything in a union whose properties are nested deeper than the stack', () => {
    let deep: JsonObject = {};
    for (let at = 0; at < 20_000; at += 1) deep = { not: deep };
    const { schema } = looseSchema({ anyOf: [object({ deep }), object({ deep: {} })] }, 'openai');
    expect(schema).toEqual(object({}));
  });
});

describeShared('schemas of real tools', () => {
  const folders = [
    'clients',
    'corpus/chat-json',
    'corpus/chat-stream',
    'corpus/responses-json',
    'corpus/responses-stream',
    'corpus/anthropic-json',
    'corpus/anthropic-stream',
  ];
  const real = new Set(
    folders.flatMap((folder) =>
      listShared(folder, '.json').flatMap((name) => schemasIn(readShared(`${folder}/${name}`))),
    ),
  );

  it.each(SCHEMA_DIALECTS)('[V-23] are schemas still, and all of their properties are there: %s', (dialect) => {
    expect(real.size).toBeGreaterThan(50);
    for (const text of real) {
      const original: unknown = JSON.parse(text);
      const { schema } = looseSchema(original, dialect);
      const known = (name: string) => DIALECT_RULES[dialect].propertyName?.test(name) ?? true;
      const names = Object.keys(asObject(asObject(original).properties)).filter(known);
      expect(Object.keys(asObject(schema.properties))).toEqual(expect.arrayContaining(names));
      expect(looseSchema(schema, dialect)).toEqual({ schema, lost: [] });
    }
  });
});

function schemasIn(text: string): readonly string[] {
  const body: unknown = JSON.parse(text);
  const tools = asObject(asObject(body).body ?? body).tools;
  return (Array.isArray(tools) ? tools : []).flatMap((tool: JsonObject) => {
    const schema = tool.parameters ?? asObject(tool.function).parameters ?? tool.input_schema;
    return isRecord(schema) ? [JSON.stringify(schema)] : [];
  });
}
