/** The bodies of the Uploads API. */
import { DEFAULT_LIMITS } from '../../ports/limits.ts';
import { ApiError } from '../../protocol/errors.ts';
import { bodyFields } from '../../protocol/json/json-shape.ts';
import { lazily } from '../../protocol/json/lazy-schema.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { invalid } from '../../protocol/responses/invalid.ts';
import { fileTooLarge } from '../endpoint/forms/multipart.ts';
import { NO_BYTES } from '../endpoint/forms/upload-form.ts';
import type { FileLimits } from './limits.ts';
import { uploadDetails } from './upload-details.ts';

/** The most parts of an upload. */
const MAX_PARTS = 10_000;
/** Far longer than any expiry that is allowed. */
const MAX_SECONDS = 999_999_999;

/** The body of a new upload. */
export const uploadSchema = lazily((z) =>
  z.object({
    bytes: z.int().min(0),
    filename: z.string().min(1),
    mime_type: z.string().min(1).max(200),
    purpose: z.string(),
    expires_after: z.object({ anchor: z.string(), seconds: z.int().min(0).max(MAX_SECONDS) }).nullish(),
  }),
);

/** The body that ends one. */
export const completeSchema = lazily((z) =>
  z.object({ part_ids: z.array(z.string()).min(1).max(MAX_PARTS), md5: z.string().nullish() }),
);

/** What a client declares of the file. */
export interface UploadBody {
  /** The length that its parts must have together. */
  readonly bytes: number;
  readonly filename: string;
  readonly contentType: string;
  /** The other fields, as a form has them. */
  readonly fields: Readonly<Record<string, string>>;
}

/** Throws `ApiError` naming the field at fault. */
export function uploadBody(given: unknown, limits: FileLimits): UploadBody {
  const body = bodyFields(given, DEFAULT_LIMITS);
  const result = uploadSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { bytes, filename, mime_type: contentType, purpose, expires_after: expiry } = result.data;
  if (bytes > limits.fileBytes) throw fileTooLarge(limits);
  const fields = {
    purpose,
    ...(expiry ? { 'expires_after[anchor]': expiry.anchor, 'expires_after[seconds]': String(expiry.seconds) } : {}),
  };
  const declared = { bytes, filename, contentType, fields };
  // Checked now, so that nobody sends the parts of a file that will be refused.
  declaredDetails(declared, Date.now(), limits);
  return declared;
}

/** The details of the file that the upload becomes at this time. Throws `ApiError` naming the field at fault. */
export function declaredDetails({ fields, ...declared }: UploadBody, createdAt: number, limits: FileLimits) {
  const file = { ...declared, content: NO_BYTES, fields: new Map(Object.entries(fields)) };
  return uploadDetails(file, createdAt, limits);
}

/** The order of the parts, and the digest that the file must have. */
export interface CompleteBody {
  readonly partIds: readonly string[];
  /** In hexadecimal digits; undefined if the client does not name it. */
  readonly md5: string | undefined;
}

/** Throws `ApiError` naming the field at fault. */
export function completeBody(given: unknown): CompleteBody {
  const body = bodyFields(given, DEFAULT_LIMITS);
  const result = completeSchema().safeParse(body);
  if (!result.success) throw invalid(result.error.issues, body);
  const { part_ids: partIds, md5 } = result.data;
  return { partIds, md5: md5 ? md5.toLowerCase() : undefined };
}

/** The declaration that was stored with an upload; undefined if it is none. */
export function storedBody(value: unknown): UploadBody | undefined {
  if (!isRecord(value) || typeof value.bytes !== 'number' || typeof value.filename !== 'string') return undefined;
  const fields: JsonObject = isRecord(value.fields) ? value.fields : {};
  // The cast: they were checked before they were stored.
  const texts = fields as UploadBody['fields'];
  return { bytes: value.bytes, filename: value.filename, contentType: String(value.contentType), fields: texts };
}

/** The error for parts that are not the file that was declared. */
export function mismatchError(message: string, param: 'part_ids' | 'md5'): ApiError {
  return new ApiError('invalid_value', message, { param });
}
