/** The details that a form holds about its file, checked. */
import type { FileDetails } from '../../ports/files/file-store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { printedId } from '../../protocol/ids.ts';
import { plainFileName } from '../../protocol/printable.ts';
import type { FileLimits } from './limits.ts';
import type { IncomingFile } from './upload-form.ts';

/** The purposes of OpenAI's API that clients may name. */
const PURPOSES: readonly string[] = ['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals'];

/** OpenAI's bounds: an hour and 30 days. */
const [SHORTEST_S, LONGEST_S] = [3600, 30 * 24 * 3600];
const ANCHOR = 'expires_after[anchor]';
const SECONDS = 'expires_after[seconds]';

/** Throws `ApiError` naming the field at fault. */
export function uploadDetails(file: IncomingFile, createdAt: number, limits: FileLimits): FileDetails {
  const { fields, contentType } = file;
  const seconds = secondsOf(fields);
  return {
    filename: nameOf(file, limits),
    purpose: purposeOf(fields),
    ...(/^[\w.+-]{1,64}\/[\w.+-]{1,64}$/.test(contentType) ? { contentType } : {}),
    ...(seconds === undefined ? {} : { expiresAt: createdAt + seconds * 1000 }),
  };
}

/** Throws `string_above_max_length`. */
function nameOf({ filename }: Pick<IncomingFile, 'filename'>, { nameLength }: FileLimits): string {
  if (filename.length > nameLength) {
    const message = `The file's name has more than ${nameLength} characters.`;
    throw new ApiError('string_above_max_length', message, { param: 'file' });
  }
  // Well-formed, because model servers and clients refuse JSON with half a surrogate pair, which a name in UTF-16 may have.
  return plainFileName(filename) || 'file';
}

function purposeOf(fields: ReadonlyMap<string, string>): string {
  const purpose = fields.get('purpose');
  if (purpose === undefined)
    throw new ApiError('missing_required_parameter', "Missing required parameter: 'purpose'.", { param: 'purpose' });
  if (PURPOSES.includes(purpose)) return purpose;
  const known = PURPOSES.map((each) => `'${each}'`).join(', ');
  const message = `Invalid value: '${printedId(purpose)}'. Supported values are: ${known}.`;
  throw new ApiError('invalid_value', message, { param: 'purpose' });
}

function secondsOf(fields: ReadonlyMap<string, string>): number | undefined {
  const [anchor, seconds] = [fields.get(ANCHOR), fields.get(SECONDS)];
  if (fields.has('expires_after')) throw invalidExpiry(`it is sent as two fields, '${ANCHOR}' and '${SECONDS}'`);
  if (anchor === undefined && seconds === undefined) return undefined;
  if (anchor !== 'created_at') throw invalidExpiry("its anchor must be 'created_at'");
  const number = /^\d{1,9}$/.test(seconds ?? '') ? Number(seconds) : Number.NaN;
  if (number >= SHORTEST_S && number <= LONGEST_S) return number;
  throw invalidExpiry(`its seconds must be a whole number from ${SHORTEST_S} to ${LONGEST_S}`);
}

function invalidExpiry(why: string): ApiError {
  return new ApiError('invalid_value', `Invalid 'expires_after': ${why}.`, { param: 'expires_after' });
}
