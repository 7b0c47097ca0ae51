/** The type of a tool's arguments, as far as its schema tells it. */
import type { JsonObject } from '../../protocol/record.ts';

/** A schema of zod 4, also of its `mini`, whichever copy of zod the host has. */
export interface ZodSchema {
  /** What zod notes of the schema; `output` is the type of its values. */
  readonly _zod: {
    /** The type of what `parseAsync` resolves with. */
    readonly output: unknown;
  };
  /** The value as the schema says; rejects for another. */
  parseAsync(value: unknown): Promise<unknown>;
}

/** The schema of a tool's arguments: JSON Schema, or a zod schema, which also parses them. */
export type ToolSchema = JsonObject | ZodSchema;

/**
 * The arguments that a schema describes: the output of a zod schema, or the values of a JSON Schema that is written where it is
 * used; otherwise any object.
 */
export type ToolArguments<Schema> = Schema extends ZodSchema
  ? Schema['_zod']['output']
  : SchemaValue<Schema> extends infer Value
    ? unknown extends Value
      ? JsonObject
      : Value
    : never;

/** Any other keywords: a literal that is written in a call extends no type without them, in TypeScript before 7. */
interface Others {
  readonly [keyword: string]: unknown;
}

/** The values of a JSON Schema; `unknown` where its keywords tell no type. */
type SchemaValue<Schema> = Schema extends Others & { readonly const: infer Value }
  ? Value
  : Schema extends Others & { readonly enum: readonly (infer Value)[] }
    ? Value
    : Schema extends Others & { readonly anyOf: readonly (infer Part)[] }
      ? SchemaValue<Part>
      : Schema extends Others & { readonly oneOf: readonly (infer Part)[] }
        ? SchemaValue<Part>
        : Schema extends Others & { readonly type: readonly (infer Type)[] }
          ? TypedValue<Schema, Type>
          : Schema extends Others & { readonly type: infer Type }
            ? TypedValue<Schema, Type>
            : Schema extends Others & { readonly properties: unknown }
              ? ObjectValue<Schema>
              : unknown;

/** The values of JSON that need no further keywords. */
interface PlainValues {
  string: string;
  number: number;
  integer: number;
  boolean: boolean;
  null: null;
}

type TypedValue<Schema, Type> = Type extends keyof PlainValues
  ? PlainValues[Type]
  : Type extends 'array'
    ? readonly (Schema extends Others & { readonly items: infer Items } ? SchemaValue<Items> : unknown)[]
    : Type extends 'object'
      ? ObjectValue<Schema>
      : unknown;

type ObjectValue<Schema> = Schema extends Others & { readonly properties: infer Properties }
  ? Flat<
      {
        readonly [Name in keyof Properties as Name extends RequiredName<Schema> ? Name : never]: SchemaValue<
          Properties[Name]
        >;
      } & {
        readonly [Name in keyof Properties as Name extends RequiredName<Schema> ? never : Name]?: SchemaValue<
          Properties[Name]
        >;
      }
    >
  : JsonObject;

type RequiredName<Schema> = Schema extends Others & { readonly required: readonly (infer Name)[] } ? Name : never;

/** One object type, which messages of the compiler show as it is written. */
type Flat<Value> = { readonly [Name in keyof Value]: Value[Name] };
