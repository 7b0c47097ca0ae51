/** Checks the body of `POST /responses`, so that later steps can read it without checks. */

import { ApiError } from '../errors.ts';
import { bodyFields } from '../json/json-shape.ts';
import { isPresent, isRecord, type JsonObject } from '../record.ts';
import { NO_LIMITS, type RequestLimits, toolCount } from './bring-limits.ts';
import { additionalTools } from './input-items.ts';
import { invalid, pathText, refuseLong, wrongTypeMessage } from './invalid.ts';
import { itemType } from './item-type.ts';
import { type CreateBody, createSchema, itemSchemas, partFields, partSchemas, toolSchemas } from './schema.ts';

type Path = readonly (string | number)[];

/**
 * The body with known fields typed. `hasUploads` is whether parts may name uploaded files. Throws `ApiError` naming the
 * field at fault.
 */
export function validateCreate(value: unknown, limits: RequestLimits = NO_LIMITS, hasUploads = false): CreateBody {
  const body = bodyFields(value, limits);
  const result = createSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { previous_response_id: previousId, conversation } = result.data;
  if (previousId && conversation)
    throw new ApiError('mutually_exclusive_parameters', TWO_PASTS, { param: 'conversation' });
  const { input, messages, tools } = body;
  if (!isPresent(input) && !previousId && !conversation)
    throw missingField(['input'], isPresent(messages) ? " 'messages' is its name in Chat Completions." : '');
  if (isPresent(input) && typeof input !== 'string') {
    if (!Array.isArray(input)) throw wrongFieldType(['input'], 'a string or an array of items', input);
    refuseLong('input', input.length, limits.inputItems);
    checkItems(input, 'input', hasUploads);
    refuseLong('input', toolCount(additionalTools(input)), limits.tools);
    const trigger = input.findIndex((item) => isRecord(item) && item.type === 'compaction_trigger');
    if (trigger >= 0 && trigger < input.length - 1) {
      const param = `input[${trigger}]`;
      throw new ApiError('invalid_value', `Invalid '${param}': a 'compaction_trigger' must be the last item.`, {
        param,
      });
    }
  }
  if (isPresent(tools)) {
    if (!Array.isArray(tools)) throw wrongFieldType(['tools'], 'an array of objects', tools);
    refuseLong('tools', toolCount(tools), limits.tools);
    checkTools(tools, ['tools']);
  }
  return result.data;
}

/** OpenAI's message for it. */
const TWO_PASTS =
  "Mutually exclusive parameters: 'previous_response_id' and 'conversation'. Ensure you are only providing one of them.";

/**
 * Checks each item of the list in this field. `hasUploads` is whether parts may name uploaded files. Throws `ApiError`
 * naming the field at fault.
 */
export function checkItems(items: readonly unknown[], field: string, hasUploads = false): void {
  // A loop over indices: `entries` takes as long as the checks of a small item.
  for (let index = 0; index < items.length; index += 1) {
    const item = items[index];
    const path = [field, index];
    if (!isRecord(item)) throw wrongFieldType(path, 'an object', item);
    const { type } = item;
    if (type !== undefined && type !== null && typeof type !== 'string')
      throw wrongFieldType([...path, 'type'], 'a string', type);
    const kind = itemType(item);
    if (kind === '') throw missingField([...path, 'type']);
    checkWith(ownValue(itemSchemas(), kind), item, path);
    const place = ownValue(partFields, kind);
    if (place) checkParts(item[place.field], [...path, place.field], place.required, hasUploads);
    // Agents send these with items of other servers too, so a value that is not a list is kept unchanged.
    if (kind === 'additional_tools' && Array.isArray(item.tools)) checkTools(item.tools, [...path, 'tools']);
  }
}

/** The fields in which each of these parts may hold its data. */
const SOURCES: Readonly<Record<string, readonly string[]>> = {
  input_image: ['image_url', 'file_id'],
  input_file: ['file_data', 'file_url', 'file_id'],
};

const NO_FILES = 'Uploaded files are not supported here; send a URL or a data URL.';

function checkParts(parts: unknown, path: Path, isRequired: boolean, hasUploads: boolean): void {
  if (typeof parts === 'string') return;
  if (!isPresent(parts)) {
    if (isRequired) throw missingField(path);
    return;
  }
  if (!Array.isArray(parts)) throw wrongFieldType(path, 'a string or an array of content parts', parts);
  let uploadIndex = -1;
  for (let index = 0; index < parts.length; index += 1) {
    const part: unknown = parts[index];
    const partPath = [...path, index];
    if (!isRecord(part)) throw wrongFieldType(partPath, 'an object', part);
    if (part.type === undefined) throw missingField([...partPath, 'type']);
    const schema = typeof part.type === 'string' ? ownValue(partSchemas(), part.type) : undefined;
    if (!schema) {
      const param = pathText([...partPath, 'type']);
      const types = Object.keys(partSchemas()).map((type) => `'${type}'`);
      const message = `Invalid value for '${param}'. Supported values are: ${types.join(', ')}.`;
      throw new ApiError('invalid_value', message, { param });
    }
    checkWith(schema, part, partPath);
    const sources = ownValue(SOURCES, String(part.type));
    if (sources && !sources.some((field) => part[field])) throw missingField([...partPath, sources[0] as string]);
    // A `file_id` alone refers to an upload.
    const isUpload = typeof part.file_id === 'string' && !part.image_url && !part.file_url && !part.file_data;
    if (isUpload && uploadIndex < 0) uploadIndex = index;
  }
  // Parts that are wrong for any server are reported before one that is wrong for this server.
  if (uploadIndex >= 0 && !hasUploads)
    throw new ApiError('unsupported_parameter', NO_FILES, { param: pathText([...path, uploadIndex, 'file_id']) });
}

function checkTools(tools: readonly unknown[], path: Path): void {
  for (const [index, tool] of tools.entries()) {
    const toolPath = [...path, index];
    if (!isRecord(tool)) throw wrongFieldType(toolPath, 'an object', tool);
    if (tool.type === undefined) throw missingField([...toolPath, 'type']);
    if (typeof tool.type !== 'string') throw wrongFieldType([...toolPath, 'type'], 'a string', tool.type);
    checkWith(ownValue(toolSchemas(), tool.type), tool, toolPath);
    // The cast: the schema has validated it.
    if (tool.type === 'namespace') checkTools(tool.tools as readonly unknown[], [...toolPath, 'tools']);
  }
}

function checkWith(schema: ReturnType<typeof itemSchemas>[string] | undefined, value: JsonObject, path: Path): void {
  const result = schema?.safeParse(value);
  if (result && !result.success) throw invalid(result.error.issues, value, path);
}

function ownValue<Value>(table: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function missingField(path: Path, hint = ''): ApiError {
  const param = pathText(path);
  return new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.${hint}`, { param });
}

function wrongFieldType(path: Path, expected: string, value: unknown): ApiError {
  const param = pathText(path);
  return new ApiError('invalid_type', wrongTypeMessage(param, expected, value), { param });
}
