/** Checks the body of `POST /responses`: what passes is safe to read by the rest. */
import { ApiError } from '../errors.ts';
import { isRecord } from '../record.ts';
import { invalid } from '../responses/invalid.ts';
import { type CreateBody, createSchema, functionToolSchema, itemSchemas } from '../responses/schema.ts';
import { refuseDepth } from './depth.ts';

type Fields = Readonly<Record<string, unknown>>;

/** The body with known fields typed. Throws `ApiError` naming the field at fault. */
export function validateCreate(body: unknown): CreateBody {
  if (!isRecord(body)) throw new ApiError('invalid_json', 'The request body must be a JSON object.');
  refuseDepth(body);
  const result = createSchema.safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  refuseUnsupported(result.data);
  if (Array.isArray(body.input)) body.input.forEach(checkItem);
  if (Array.isArray(body.tools)) body.tools.forEach(checkTool);
  return result.data;
}

function refuseUnsupported({ background, conversation, prompt }: CreateBody): void {
  if (background) throw unsupported('background', 'Background responses are not supported here.');
  if (conversation)
    throw unsupported('conversation', 'Conversations are not supported here; use previous_response_id.');
  if (prompt) throw unsupported('prompt', 'Prompt templates are not supported here; send the text itself.');
}

function unsupported(param: string, message: string): ApiError {
  return new ApiError('unsupported_parameter', message, { param });
}

function checkItem(item: unknown, index: number): void {
  const type = itemType(item as Fields);
  if (type === '') throw missing(`input[${index}].type`);
  const schema = Object.hasOwn(itemSchemas, type) ? itemSchemas[type] : undefined;
  const result = schema?.safeParse(item);
  if (result && !result.success) throw invalid(result.error.issues, item, ['input', index]);
  refuseFileIds(item as Fields, index);
}

function missing(param: string): ApiError {
  return new ApiError('missing_required_parameter', `Missing required parameter: '${param}'.`, { param });
}

/** SDKs send messages without a type. */
export function itemType(item: Fields): string {
  if (typeof item.type === 'string' && item.type !== '') return item.type;
  return 'role' in item ? 'message' : '';
}

function refuseFileIds(item: Fields, index: number): void {
  for (const field of ['content', 'output']) {
    const parts = item[field];
    const at = Array.isArray(parts) ? parts.findIndex((part) => isRecord(part) && needsFile(part)) : -1;
    if (at < 0) continue;
    throw new ApiError('unsupported_parameter', 'Uploaded files are not supported here; send a URL or a data URL.', {
      param: `input[${index}].${field}[${at}].file_id`,
    });
  }
}

/** A `file_id` alone refers to an upload, and there is no place to upload to. */
function needsFile(part: Fields): boolean {
  return typeof part.file_id === 'string' && !part.image_url && !part.file_url && !part.file_data;
}

function checkTool(tool: unknown, index: number): void {
  if (!isRecord(tool) || tool.type !== 'function') return;
  const result = functionToolSchema.safeParse(tool);
  if (!result.success) throw invalid(result.error.issues, tool, ['tools', index]);
}
