/** The details that a form holds about its file, checked. */
import type { FileDetails } from '../../ports/files/file-store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { toPrintableId } from '../../protocol/ids.ts';
import { visibleText } from '../../protocol/printable.ts';
import { invalidField } from '../../protocol/responses/invalid.ts';
import type { IncomingFile } from '../endpoint/forms/upload-form.ts';
import type { FileLimits } from './limits.ts';

/** The purposes of OpenAI's API that clients may name. */
export const PURPOSES: readonly string[] = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'];

/** OpenAI's bounds: an hour and 30 days. */
const [MIN_SECONDS, MAX_SECONDS] = [3600, 30 * 24 * 3600];
const ANCHOR = 'expires_after[anchor]';
const SECONDS = 'expires_after[seconds]';

/** Throws `ApiError` naming the field at fault. */
export function uploadDetails(file: IncomingFile, createdAt: number, { nameLength }: FileLimits): FileDetails {
  const { fields, contentType, filename } = file;
  const seconds = expirySeconds(fields);
  if (filename.length > nameLength) {
    const message = `The file's name has more than ${nameLength} characters.`;
    throw new ApiError('string_above_max_length', message, { param: 'file' });
  }
  const purpose = fields.get('purpose');
  if (purpose === undefined)
    throw new ApiError('missing_required_parameter', "Missing required parameter: 'purpose'.", { param: 'purpose' });
  if (!PURPOSES.includes(purpose)) {
    const supported = PURPOSES.map((each) => `'${each}'`).join(', ');
    const message = `Invalid value: '${toPrintableId(purpose)}'. Supported values are: ${supported}.`;
    throw new ApiError('invalid_value', message, { param: 'purpose' });
  }
  return {
    // Well-formed, because model servers and clients refuse JSON with half a surrogate pair, which a name in UTF-16 may have.
    filename: visibleText(filename) || 'file',
    purpose,
    ...(/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(contentType) ? { contentType } : {}),
    ...(seconds === undefined ? {} : { expiresAt: createdAt + seconds * 1000 }),
  };
}

function expirySeconds(fields: ReadonlyMap<string, string>): number | undefined {
  const [anchor, seconds] = [fields.get(ANCHOR), fields.get(SECONDS)];
  if (fields.has('expires_after'))
    throw invalidField('expires_after', `it is sent as two fields, '${ANCHOR}' and '${SECONDS}'`);
  if (anchor === undefined && seconds === undefined) return undefined;
  if (anchor !== 'created_at') throw invalidField('expires_after', "its anchor must be 'created_at'");
  const number = /^\d{1,9}$/.test(seconds ?? '') ? Number(seconds) : Number.NaN;
  if (number >= MIN_SECONDS && number <= MAX_SECONDS) return number;
  throw invalidField('expires_after', `its seconds must be a whole number from ${MIN_SECONDS} to ${MAX_SECONDS}`);
}
