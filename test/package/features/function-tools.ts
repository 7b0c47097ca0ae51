/** The arguments of functions have the types of their schemas, without annotations; annotations hold where they are. */
import {
  type AnyFunctionTool,
  type ExecuteContext,
  type FunctionTool,
  functionTool,
  functionTools,
  type ToolArguments,
  type ToolProvider,
} from 'express-open-responses';
import { z } from 'zod';
import { z as mini } from 'zod/mini';

type Equal<One, Other> =
  (<Value>() => Value extends One ? 1 : 2) extends <Value>() => Value extends Other ? 1 : 2 ? true : false;
type Arguments = Readonly<Record<string, unknown>>;

/** Compiles only with `true` for types that are the same. */
function same<One, Other>(_: Equal<One, Other>): void {}

interface User {
  readonly id: string;
}

export const inferred: ToolProvider = functionTools({
  zod: {
    parameters: z.object({ city: z.string(), days: z.number().default(1) }),
    execute({ city, days }) {
      same<typeof city, string>(true);
      same<typeof days, number>(true);
    },
  },
  mini: {
    parameters: mini.object({ city: mini.optional(mini.string()) }),
    execute: ({ city }) => same<typeof city, string | undefined>(true),
  },
  json: {
    description: 'The weather.',
    parameters: {
      type: 'object',
      properties: {
        city: { type: 'string' },
        unit: { enum: ['c', 'f'] },
        days: { type: 'array', items: { type: 'integer' } },
        place: { type: ['string', 'null'] },
        at: {
          type: 'object',
          properties: { hour: { anyOf: [{ type: 'number' }, { const: 'now' }] } },
          required: ['hour'],
        },
        other: { $ref: '#/$defs/other' },
      },
      required: ['city', 'other'],
    },
    async execute({ city, unit, days, place, at, other }, { scope }) {
      same<typeof city, string>(true);
      same<typeof unit, 'c' | 'f' | undefined>(true);
      same<typeof days, readonly number[] | undefined>(true);
      same<typeof place, string | null | undefined>(true);
      same<typeof at, { readonly hour: number | 'now' } | undefined>(true);
      same<typeof other, unknown>(true);
      same<typeof scope, string>(true);
    },
  },
  none: { execute: (args) => same<typeof args, Arguments>(true) },
  empty: { parameters: {}, execute: (args) => same<typeof args, Arguments>(true) },
  object: { parameters: { type: 'object' }, execute: (args) => same<typeof args, Arguments>(true) },
});

const elsewhere: Arguments = { type: 'object' };
const apart = functionTool({ parameters: z.object({ city: z.string() }), execute: ({ city }) => city.length });
const known: FunctionTool = { parameters: elsewhere, execute: (args) => Object.keys(args) };
const list: Readonly<Record<string, AnyFunctionTool>> = { apart, known };
export const providers: readonly ToolProvider[] = [
  functionTools({}),
  functionTools({ apart, known }, { server: 'weather' }),
  functionTools(list),
  functionTools(Object.fromEntries(['a', 'b'].map((name) => [name, { execute: () => name }]))),
  functionTools({ annotated: { execute: ({ city }: { readonly city?: string }) => city } }),
  functionTools({ later: { parameters: elsewhere, execute: (args) => same<typeof args, Arguments>(true) } }),
];

export const ofUser: readonly ToolProvider<User>[] = [
  functionTools({ who: { execute: (_, { request }: ExecuteContext<User>) => request.id } }),
  functionTools<User>({ who: { execute: (_, { request }) => request.id } }),
  functionTools({
    first: {
      parameters: z.object({ most: z.number() }),
      execute: ({ most }, { request }: ExecuteContext<User>) => request.id.slice(0, most),
    },
  }),
];

same<
  ToolArguments<{ readonly type: 'object'; readonly properties: { readonly a: { readonly type: 'string' } } }>,
  { readonly a?: string }
>(true);
same<ToolArguments<unknown>, Arguments>(true);
