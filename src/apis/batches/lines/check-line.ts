/** Checks one line of a batch's input: that it is a request to the batch's endpoint, with an id that is its own. */
import { toPrintableId } from '../../../protocol/ids.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { BatchFault } from '../batch.ts';
import type { InputLine } from './read-lines.ts';

/** A line's request. */
export interface LineOrder {
  readonly customId: string;
  readonly body: JsonObject;
}

/** A fault without its line. */
type Fault = Omit<BatchFault, 'line'>;

/** The endpoint of the lines of Anthropic's batches. */
export const MESSAGES_ENDPOINT = '/v1/messages';
/** OpenAI's bound for names that a client gives. */
const MAX_CUSTOM_ID = 512;

/** The request of the line, or what is wrong with it, in OpenAI's words and codes. */
export function readOrder({ text }: Pick<InputLine, 'text'>, endpoint: string, maxBytes: number): LineOrder | Fault {
  if (text === undefined) return fault('line_too_long', `This line has more than ${maxBytes} bytes.`);
  const line = objectIn(text);
  if (!line) return fault('invalid_json_line', 'This line is not parseable as valid JSON.');
  for (const name of ['custom_id', 'method', 'url', 'body'] as const)
    if (line[name] === undefined || line[name] === null)
      return fault('missing_required_parameter', `Missing required parameter: '${name}'.`, name);
  const { custom_id: customId, method, url, body } = line;
  if (typeof customId !== 'string' || customId === '' || customId.length > MAX_CUSTOM_ID)
    return fault('invalid_custom_id', `The custom_id must be a text of 1 to ${MAX_CUSTOM_ID} characters.`, 'custom_id');
  if (method !== 'POST')
    return fault('invalid_method', `Invalid method: '${toPrintableId(method)}'. The method must be 'POST'.`, 'method');
  if (url !== endpoint) {
    const message = `The URL provided for this request, '${toPrintableId(url)}', does not match the batch endpoint '${endpoint}'.`;
    return fault('invalid_url', message, 'url');
  }
  if (!isRecord(body)) return fault('invalid_request', "Invalid type for 'body': expected an object.", 'body');
  if (body.stream)
    return fault('invalid_request', "A request of a batch cannot be streamed: leave out 'stream'.", 'body.stream');
  // Of messages it is an unknown field, as in a request of its own.
  if (body.background && endpoint !== MESSAGES_ENDPOINT)
    return fault(
      'invalid_request',
      "A request of a batch cannot be in the background: leave out 'background'.",
      'body.background',
    );
  return { customId, body };
}

function fault(code: string, message: string, param: string | null = null): Fault {
  return { code, message, param };
}
