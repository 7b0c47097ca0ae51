/** The JSON Schemas that model servers accept for the arguments of tools: data, without code. */

/** The schemas that a server accepts. `any` leaves all keywords, and `plain` only what every server knows. */
export type SchemaDialect = 'any' | 'openai' | 'anthropic' | 'gemini' | 'llama.cpp' | 'plain';

/** What a dialect lacks. */
export interface DialectRules {
  /** Whether the schema itself may be a union, and not only its properties. */
  readonly rootUnions: boolean;
  /** Whether parts of the schema may be referred to. */
  readonly references: boolean;
  /** Whether `true` and `false` are schemas. */
  readonly booleans: boolean;
  /** The keywords that it knows. Default: all. */
  readonly keywords?: ReadonlySet<string>;
  /** The keywords that it refuses. */
  readonly refused?: ReadonlySet<string>;
  /** Whether a list must say what its items are. */
  readonly itemsRequired?: true;
  /** Whether a schema has one type, and enumerations hold texts. */
  readonly simpleTypes?: true;
  /** The names that properties may have. */
  readonly propertyName?: RegExp;
  /** The highest length or number of items that it can count. */
  readonly maxCount?: number;
}

const PLAIN_KEYWORDS = [
  'type',
  'description',
  'title',
  'enum',
  'properties',
  'required',
  'items',
  'anyOf',
  'minimum',
  'maximum',
] as const;

/** The rules of each dialect. */
export const DIALECT_RULES: Readonly<Record<SchemaDialect, DialectRules>> = {
  any: { rootUnions: true, references: true, booleans: true },
  openai: { rootUnions: false, references: true, booleans: true, itemsRequired: true },
  anthropic: {
    rootUnions: false,
    references: true,
    booleans: true,
    propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
  },
  gemini: {
    rootUnions: false,
    references: false,
    booleans: false,
    keywords: new Set([...PLAIN_KEYWORDS, 'minItems', 'maxItems', 'minLength', 'maxLength', 'nullable']),
    itemsRequired: true,
    simpleTypes: true,
  },
  'llama.cpp': {
    rootUnions: true,
    references: true,
    booleans: false,
    refused: new Set(['pattern', 'format', 'patternProperties', 'not']),
    maxCount: 100,
  },
  plain: {
    rootUnions: false,
    references: false,
    booleans: false,
    keywords: new Set(PLAIN_KEYWORDS),
    itemsRequired: true,
    simpleTypes: true,
    propertyName: /^[a-zA-Z0-9_.-]{1,64}$/,
  },
};

/** The dialects, for checks of options. */
export const SCHEMA_DIALECTS = [
  'any',
  'openai',
  'anthropic',
  'gemini',
  'llama.cpp',
  'plain',
] as const satisfies readonly SchemaDialect[];
