/** Whether a request wants the model's text to be JSON. */
import { isRecord, type JsonObject } from '../../protocol/record.ts';

/** The same of a format in any API's form, such as `json_schema`. */
export function wantsJson(format: unknown): boolean {
  return isRecord(format) && typeof format.type === 'string' && format.type.startsWith('json');
}

/** The format that a body asks for. */
export function formatIn({
  text,
  response_format: format,
  output_config: config,
  output_format: older,
}: JsonObject): unknown {
  if (isRecord(text)) return text.format;
  if (isRecord(config)) return config.format;
  return format ?? older;
}
