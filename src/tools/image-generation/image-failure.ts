/** Why there is no image, each as one sentence for the model. */
import { ApiError } from '../../protocol/errors.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';

/** A call without an image; the message is for the model. */
export class ImageFailure extends Error {
  override readonly name = 'ImageFailure';
}

type Mask = (text: string) => string;

const MAX_MESSAGE_CHARACTERS = 500;
const MODERATION: ReadonlySet<unknown> = new Set(['moderation_blocked', 'content_policy_violation', 'content_filter']);

/** The server answered with an error status; only its message about the request itself is passed on. */
export function statusFailure(status: number, text: string, mask: Mask): ImageFailure {
  const error = errorObject(jsonIn(text));
  const moderation = moderationFailure(error, mask);
  if (moderation) return moderation;
  if (status === 401 || status === 403)
    return new ImageFailure(`The image server refused the key of this server (status ${status}).`);
  if (status === 429) return new ImageFailure('The image server has too many requests at the moment (status 429).');
  if (status >= 500) return new ImageFailure(`The image server failed (status ${status}).`);
  return new ImageFailure(`The image server refused the request (status ${status})${messageEnd(error, mask)}`);
}

/** The error in the body of an answer with a good status, or in an event; undefined if there is none. */
export function reportedFailure(body: JsonObject, mask: Mask): ImageFailure | undefined {
  const error = errorObject(body);
  if (error === body && body.type !== 'error') return undefined;
  return moderationFailure(error, mask) ?? new ImageFailure(`The image server failed${messageEnd(error, mask)}`);
}

/** The server sent something else; `what` describes it. */
export function unusableAnswer(what: string): ImageFailure {
  return new ImageFailure(`The image server sent no image but ${what}.`);
}

/** The image exceeds the host's limit. */
export function tooLargeFailure(characters: number): ImageFailure {
  return new ImageFailure(`The image is larger than the ${characters} characters of base64 that are allowed.`);
}

/** Whether a body, or an event of it, exceeded its limit. */
export function isOverLimit(error: unknown): boolean {
  return error instanceof ApiError;
}

/** The refusal of the server's moderation; undefined for other errors. */
function moderationFailure(error: JsonObject, mask: Mask): ImageFailure | undefined {
  if (!MODERATION.has(error.code) && !MODERATION.has(error.type)) return undefined;
  return new ImageFailure(`The moderation of the image server refused the image${messageEnd(error, mask)}`);
}

function errorObject(body: unknown): JsonObject {
  if (!isRecord(body)) return {};
  if (typeof body.error === 'string') return { message: body.error };
  return isRecord(body.error) ? body.error : body;
}

/** The server's own words, on one line. */
function messageEnd({ message }: JsonObject, mask: Mask): string {
  const text = mask(plainText(message)).slice(0, MAX_MESSAGE_CHARACTERS).replace(/\s+/g, ' ').trim();
  return text === '' ? '.' : `: ${text}`;
}
