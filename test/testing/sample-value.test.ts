/** The values that the demo model makes up for a JSON Schema. */
import { Ajv2020 } from 'ajv/dist/2020.js';
import formats from 'ajv-formats';
import { sampleValue } from '../../src/testing/demo-model/sample-value.ts';

const ajv = new Ajv2020({ strict: false });
formats.default(ajv);

const tree = {
  $defs: {
    node: {
      type: 'object',
      properties: {
        label: { type: 'string' },
        next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
        children: { type: 'array', items: { $ref: '#/$defs/node' } },
      },
      required: ['label', 'next', 'children'],
    },
  },
  $ref: '#/$defs/node',
};

describe('sampleValue', () => {
  it.each<readonly [string, unknown, unknown]>([
    ['an empty schema', {}, 'some value'],
    ['a missing schema', undefined, 'some value'],
    ['a string', { type: 'string' }, 'some value'],
    ['a short string', { type: 'string', maxLength: 4 }, 'some'],
    ['a long string', { type: 'string', minLength: 12 }, 'some value..'],
    ['a date', { type: 'string', format: 'date' }, '2026-11-20'],
    ['a date and time', { type: 'string', format: 'date-time' }, '2026-11-20T12:00:00Z'],
    ['a time', { type: 'string', format: 'time' }, '12:00:00Z'],
    ['an address', { type: 'string', format: 'email' }, 'someone@example.com'],
    ['a UUID', { type: 'string', format: 'uuid' }, '00000000-0000-4000-8000-000000000000'],
    ['an enum', { enum: ['b', 'a'] }, 'b'],
    ['a constant', { const: null }, null],
    ['a default', { type: 'integer', default: 7 }, 7],
    ['an integer', { type: 'integer' }, 1],
    ['an integer from 18', { type: 'integer', minimum: 18 }, 19],
    ['an integer between ends', { type: 'integer', exclusiveMinimum: 0, maximum: 1 }, 1],
    ['an integer below an end', { type: 'integer', minimum: 0, exclusiveMaximum: 1 }, 0],
    ['a multiple', { type: 'integer', minimum: 5, maximum: 8, multipleOf: 5 }, 5],
    ['a fraction', { type: 'number', minimum: 0, maximum: 1 }, 0.5],
    ['a negative number', { type: 'number', maximum: -3 }, -4],
    ['a boolean', { type: 'boolean' }, true],
    ['null', { type: 'null' }, null],
    ['a type that may be null', { type: ['string', 'null'] }, 'some value'],
    ['a list', { type: 'array', items: { type: 'integer' } }, [1]],
    ['a list of two', { type: 'array', items: { type: 'integer' }, minItems: 2 }, [1, 1]],
    ['an empty list', { type: 'array', maxItems: 0 }, []],
    ['a tuple', { prefixItems: [{ type: 'integer' }, { type: 'boolean' }], type: 'array' }, [1, true]],
    ['an object without properties', { type: 'object' }, {}],
    ['an object that requires nothing by name', { properties: { city: { type: 'string' } } }, { city: 'some city' }],
    [
      'an object that requires one property',
      { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'integer' } }, required: ['b'] },
      { b: 1 },
    ],
    [
      'nested objects',
      { properties: { place: { properties: { city: { type: 'string' } }, required: ['city'] } } },
      { place: { city: 'some city' } },
    ],
    ['the first variant that is not null', { anyOf: [{ type: 'null' }, { type: 'integer' }] }, 1],
    [
      'parts that are joined',
      {
        allOf: [
          { properties: { a: { type: 'integer' } }, required: ['a'] },
          { properties: { b: { type: 'boolean' } }, required: ['b'] },
        ],
      },
      { a: 1, b: true },
    ],
  ])('makes a valid value for %s', (_name, schema, expected) => {
    const value = sampleValue(schema);
    expect([value, ajv.validate(schema ?? {}, value)]).toEqual([expected, true]);
  });

  it('ends a schema that refers to itself', () => {
    const value = sampleValue(tree);
    expect(ajv.validate(tree, value)).toBe(true);
  });

  it('gives up on a schema that nothing fits, instead of running on', () => {
    const endless = { $defs: { a: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' };
    expect(sampleValue(endless)).toBe('some value');
  });

  it('uses the given words for strings, in their order', () => {
    const schema = { properties: { from: { type: 'string' }, to: { type: 'string' }, by: { type: 'string' } } };
    expect(sampleValue(schema, ['Paris', 'Rome'])).toEqual({ from: 'Paris', to: 'Rome', by: 'some by' });
  });
});
