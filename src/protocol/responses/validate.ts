/** Checks the body of `POST /responses`, so that later steps can read it without checks. */

import { ApiError } from '../errors.ts';
import { bodyFields } from '../json/json-shape.ts';
import { isRecord, type JsonObject } from '../record.ts';
import { type BringLimits, NO_LIMITS, toolCount } from './bring-limits.ts';
import { additionalTools } from './input-items.ts';
import { expectedInstead, invalid, pathText, refuseLong } from './invalid.ts';
import { itemType } from './item-type.ts';
import { type CreateBody, createSchema, itemSchemas, partFields, partSchemas, toolSchemas } from './schema.ts';

type Path = readonly (string | number)[];

/**
 * The body with known fields typed. `hasUploads` is whether parts may name uploaded files. Throws `ApiError` naming the
 * field at fault.
 */
export function validateCreate(given: unknown, limits: BringLimits = NO_LIMITS, hasUploads = false): CreateBody {
  const body = bodyFields(given, limits);
  const result = createSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { previous_response_id: previousId, conversation } = result.data;
  if (previousId && conversation) throw twoPasts();
  if (isOmitted(body.input) && !previousId && !conversation) throw missing(['input']);
  checkInput(body.input, limits, hasUploads);
  checkTools(body.tools, limits);
  return result.data;
}

function unsupported(param: string, message: string): ApiError {
  return new ApiError('unsupported_parameter', message, { param });
}

/** OpenAI's message for it. */
function twoPasts(): ApiError {
  const message =
    "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.";
  return new ApiError('mutually_exclusive_parameters', message, { param: 'conversation' });
}

function checkInput(input: unknown, { inputItems, tools }: BringLimits, hasUploads: boolean): void {
  if (isOmitted(input) || typeof input === 'string') return;
  if (!Array.isArray(input)) throw wrongType(['input'], 'a string or an array of items', input);
  refuseLong('input', input.length, inputItems);
  checkItems(input, 'input', hasUploads);
  refuseLong('input', toolCount(additionalTools(input)), tools);
  refuseEarlyTrigger(input);
}

function refuseEarlyTrigger(input: readonly unknown[]): void {
  const index = input.findIndex((item) => isRecord(item) && item.type === 'compaction_trigger');
  if (index < 0 || index === input.length - 1) return;
  const param = `input[${index}]`;
  throw new ApiError('invalid_value', `Invalid '${param}': a 'compaction_trigger' must be the last item.`, { param });
}

/**
 * Checks each item of the list in this field. `hasUploads` is whether parts may name uploaded files. Throws `ApiError`
 * naming the field at fault.
 */
export function checkItems(items: readonly unknown[], field: string, hasUploads = false): void {
  // A loop over indices: `entries` takes as long as the checks of a small item.
  for (let index = 0; index < items.length; index += 1) checkItem(items[index], [field, index], hasUploads);
}

function checkItem(item: unknown, path: Path, hasUploads: boolean): void {
  if (!isRecord(item)) throw wrongType(path, 'an object', item);
  const { type } = item;
  if (type !== undefined && type !== null && typeof type !== 'string')
    throw wrongType([...path, 'type'], 'a string', type);
  const kind = itemType(item);
  if (kind === '') throw missing([...path, 'type']);
  checkWith(own(itemSchemas(), kind), item, path);
  const parts = own(partFields, kind);
  if (parts) {
    const given = checkParts(item[parts.field], [...path, parts.field], parts.required);
    if (!hasUploads) refuseUploads(given, [...path, parts.field]);
  }
  // Agents send these with items of other servers too, so a value that is not a list is kept unchanged.
  if (kind === 'additional_tools' && Array.isArray(item.tools)) checkEach(item.tools, [...path, 'tools']);
}

/** Returns the parts; none for a text. */
function checkParts(parts: unknown, path: Path, required: boolean): readonly JsonObject[] {
  if (typeof parts === 'string') return [];
  if (isOmitted(parts)) {
    if (required) throw missing(path);
    return [];
  }
  if (!Array.isArray(parts)) throw wrongType(path, 'a string or an array of content parts', parts);
  for (let index = 0; index < parts.length; index += 1) checkPart(parts[index], path, index);
  return parts;
}

function checkPart(part: unknown, at: Path, index: number): void {
  const path = [...at, index];
  if (!isRecord(part)) throw wrongType(path, 'an object', part);
  if (part.type === undefined) throw missing([...path, 'type']);
  const schema = typeof part.type === 'string' ? own(partSchemas(), part.type) : undefined;
  if (!schema) throw unknownPart([...path, 'type']);
  checkWith(schema, part, path);
  refuseEmpty(part, path);
}

function refuseUploads(parts: readonly JsonObject[], path: Path): void {
  for (let index = 0; index < parts.length; index += 1) {
    if (needsFile(parts[index] ?? {})) throw unsupported(pathText([...path, index, 'file_id']), NO_FILES);
  }
}

/** The fields in which each of these parts may hold its data. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  input_image: ['image_url', 'file_id'],
  input_file: ['file_data', 'file_url', 'file_id'],
};

function refuseEmpty(part: JsonObject, path: Path): void {
  const sources = own(SOURCES, String(part.type));
  if (sources && !sources.some((field) => part[field])) throw missing([...path, sources[0] as string]);
}

const NO_FILES = 'Uploaded files are not supported here; send a URL or a data URL.';

/** A `file_id` alone refers to an upload. */
function needsFile(part: JsonObject): boolean {
  return typeof part.file_id === 'string' && !part.image_url && !part.file_url && !part.file_data;
}

function unknownPart(path: Path): ApiError {
  const known = Object.keys(partSchemas()).map((type) => `'${type}'`);
  const message = `Invalid value for '${pathText(path)}'. Supported values are: ${known.join(', ')}.`;
  return new ApiError('invalid_value', message, { param: pathText(path) });
}

function checkTools(tools: unknown, limits: BringLimits): void {
  if (isOmitted(tools)) return;
  if (!Array.isArray(tools)) throw wrongType(['tools'], 'an array of objects', tools);
  refuseLong('tools', toolCount(tools), limits.tools);
  checkEach(tools, ['tools']);
}

function checkEach(tools: readonly unknown[], path: Path): void {
  for (const [index, tool] of tools.entries()) checkTool(tool, [...path, index]);
}

function checkTool(tool: unknown, path: Path): void {
  if (!isRecord(tool)) throw wrongType(path, 'an object', tool);
  if (tool.type === undefined) throw missing([...path, 'type']);
  if (typeof tool.type !== 'string') throw wrongType([...path, 'type'], 'a string', tool.type);
  checkWith(own(toolSchemas(), tool.type), tool, path);
  if (tool.type !== 'namespace') return;
  // The cast: the schema has validated it.
  checkEach(tool.tools as readonly unknown[], [...path, 'tools']);
}

function checkWith(schema: ReturnType<typeof itemSchemas>[string] | undefined, value: JsonObject, path: Path): void {
  const result = schema?.safeParse(value);
  if (result && !result.success) throw invalid(result.error.issues, value, path);
}

function own<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function isOmitted(value: unknown): boolean {
  return value === undefined || value === null;
}

function missing(path: Path): ApiError {
  const param = pathText(path);
  return new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param });
}

function wrongType(path: Path, expected: string, value: unknown): ApiError {
  const param = pathText(path);
  return new ApiError('invalid_type', expectedInstead(param, expected, value), { param });
}
