/** Functions of the host as tools that the server runs. */
import { inspect } from 'node:util';
import type { z } from 'zod';
import { checkOptions } from '../../ports/host/options-check.ts';
import { isToolResult, type ProvidedTool, type ToolCall, type ToolProvider } from '../../ports/tool-provider.ts';
import { zod } from '../../protocol/json/packages.cjs';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import type { ToolArguments, ToolSchema, ZodSchema } from './tool-arguments.ts';

/** The context of a function call besides its arguments. `Req` is the host framework's request. */
export interface ExecuteContext<Req = unknown>
  extends Pick<ToolCall<Req>, 'scope' | 'requestId' | 'request' | 'onProgress'> {
  /** Aborted when the client leaves or the call times out. */
  readonly signal: AbortSignal;
}

/** One function, with arguments of any type. */
export interface AnyFunctionTool<Req = unknown> {
  /** What the function does, for the model. */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, or a zod schema, which also parses them. Default: an object without properties. */
  readonly parameters?: ToolSchema | undefined;
  /** Runs the function. Its errors are passed to the model. */
  execute(args: never, context: ExecuteContext<Req>): unknown;
}

/**
 * One function, whose arguments have the type that its schema describes. Its result is text, a `ToolResult`, or any other
 * value as JSON; errors it throws are passed to the model.
 */
export interface FunctionTool<Schema = JsonObject, Req = unknown> {
  /** What the function does, for the model. */
  readonly description?: string | undefined;
  /** JSON Schema of the arguments, or a zod schema, which also parses them. Default: an object without properties. */
  readonly parameters?: (Schema extends ToolSchema ? Schema : ToolSchema) | undefined;
  // A method, so that one of `AnyFunctionTool` may stand here.
  /** Runs the function with its parsed arguments. Its errors are passed to the model. */
  execute(args: ToolArguments<Schema>, context: ExecuteContext<Req>): unknown;
}

/** Ties the type of a function's arguments to its schema, for one that is written apart from `functionTools`. */
export function functionTool<const Schema, Req = unknown>(tool: FunctionTool<Schema, Req>): FunctionTool<Schema, Req> {
  return tool;
}

/** The options of `functionTools`. */
export interface FunctionToolsOptions {
  /** What clients see as `server_label`. Default: `functions`. */
  readonly server?: string | undefined;
}

/**
 * A provider of the functions, by name; clients see `server` as `server_label` (default `functions`). Throws a
 * `TypeError` for a tool without `execute`, and for a name or a schema that model servers refuse.
 *
 * @example
 * ```ts
 * import { functionTools, responsesRouter } from 'express-open-responses';
 * import { z } from 'zod';
 *
 * const tools = functionTools({
 *   add: {
 *     description: 'Adds two numbers.',
 *     parameters: z.object({ a: z.number(), b: z.number() }),
 *     execute: ({ a, b }) => String(a + b),
 *   },
 * });
 * const router = responsesRouter({ tools });
 * ```
 */
export function functionTools<
  Req = unknown,
  const Schemas extends Readonly<Record<string, unknown>> = Readonly<Record<string, JsonObject>>,
>(
  tools: { readonly [Name in keyof Schemas]: FunctionTool<Schemas[Name], Req> },
  { server = 'functions' }: FunctionToolsOptions = {},
): ToolProvider<Req> {
  if (!isRecord(tools)) {
    const wrong = Array.isArray(tools) ? 'an array' : inspect(tools);
    throw new TypeError(
      `functionTools: the tools must be an object of tools by name, such as { add: { … } }, got ${wrong}`,
    );
  }
  checkOptions('functionTools', { server }, { server: (value) => typeof value === 'string' || 'a string' });
  // The cast: each function has arguments of its own type.
  const functions = tools as Readonly<Record<string, AnyFunctionTool<Req>>>;
  const provided = Object.entries(functions).map(([name, tool]) => providedTool(server, name, tool));
  return {
    name: server,
    list: () => provided,
    async call({ name, arguments: args, scope, requestId, request, onProgress }, signal) {
      const tool = Object.hasOwn(functions, name) ? functions[name] : undefined;
      if (!tool) throw new Error(`There is no function '${name}'.`);
      const parsed = isZod(tool.parameters) ? await tool.parameters.parseAsync(args) : args;
      // The cast: the schema's output is the function's input.
      const result = await tool.execute(parsed as never, { scope, requestId, request, signal, onProgress });
      if (isToolResult(result)) return result;
      return { content: typeof result === 'string' ? result : (JSON.stringify(result) ?? '') };
    },
  };
}

function providedTool(server: string, name: string, tool: AnyFunctionTool<never>): ProvidedTool {
  checkOptions(`functionTools: ${name}`, tool, {
    description: (value) => typeof value === 'string' || 'a string',
    // A schema of zod 3 has only `_def`.
    parameters: (value) =>
      (isRecord(value) && (isZod(value) || !('_def' in value))) || 'a JSON Schema or a schema of zod 4',
    execute: (value) => typeof value === 'function' || 'a function',
  });
  if (!tool.execute) throw new TypeError(`functionTools: ${name}: execute must be a function, got undefined`);
  if (!NAME.test(name))
    throw new TypeError(`functionTools: the name of a function must match ${NAME}, got ${inspect(name)}`);
  const { description, parameters } = tool;
  return {
    server,
    name,
    ...(description ? { description } : {}),
    ...(parameters ? { parameters: objectSchema(name, parameters) } : {}),
  };
}

function isZod(parameters: unknown): parameters is ZodSchema {
  // Not instanceof: the host may have its own copy of zod.
  return isRecord(parameters) && '_zod' in parameters;
}

/** The names that every model server accepts. */
const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Keywords at the top of a schema without a type that describe something else than an object. */
const ALTERNATIVES = ['anyOf', 'oneOf', 'allOf', 'not', 'enum', 'const', '$ref'];

/** Arguments are an object, and model servers refuse a schema of any other type, or of alternatives at the top. */
function objectSchema(name: string, parameters: ToolSchema): JsonObject {
  let schema: JsonObject;
  try {
    // The casts: the schema may be of the host's own copy of zod, whose type is another; a JSON Schema is an object.
    schema = isZod(parameters)
      ? (zod().z.toJSONSchema(parameters as z.ZodType, { io: 'input' }) as JsonObject)
      : parameters;
  } catch (cause) {
    const message = `functionTools: ${name}: parameters must be a zod schema that JSON Schema can express`;
    throw new TypeError(`${message}: ${cause instanceof Error ? cause.message : cause}`, { cause });
  }
  const { type } = schema;
  if (type === undefined ? !ALTERNATIVES.some((keyword) => Object.hasOwn(schema, keyword)) : type === 'object')
    return schema;
  const message = `functionTools: ${name}: parameters must describe an object ({ type: 'object', properties: … })`;
  throw new TypeError(`${message}, got ${inspect(schema, { depth: 0, breakLength: Number.POSITIVE_INFINITY })}`);
}
