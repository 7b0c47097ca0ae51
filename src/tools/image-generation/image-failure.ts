/** Why there is no image, each as one sentence for the model. */
import { ApiError } from '../../protocol/errors.ts';
import { jsonIn } from '../../protocol/json/json-text.ts';
import { isRecord, type JsonObject, plainTextOf } from '../../protocol/record.ts';

/** A call without an image; the message is for the model. */
export class ImageFailure extends Error {
  override readonly name = 'ImageFailure';
}

type Mask = (text: string) => string;

const MESSAGE_CHARACTERS = 500;
const MODERATION: ReadonlySet<unknown> = new Set(['moderation_blocked', 'content_policy_violation', 'content_filter']);

/** The server answered with an error status; only its message about the request itself is passed on. */
export function refused(status: number, text: string, mask: Mask): ImageFailure {
  const error = errorIn(jsonIn(text));
  if (isModeration(error)) return moderated(error, mask);
  if (status === 401 || status === 403)
    return new ImageFailure(`The image server refused the key of this server (status ${status}).`);
  if (status === 429) return new ImageFailure('The image server has too many requests at the moment (status 429).');
  if (status >= 500) return new ImageFailure(`The image server failed (status ${status}).`);
  return new ImageFailure(`The image server refused the request (status ${status})${messageIn(error, mask)}`);
}

/** The error in the body of an answer with a good status, or in an event; undefined if there is none. */
export function failureIn(body: JsonObject, mask: Mask): ImageFailure | undefined {
  const error = errorIn(body);
  if (error === body && body.type !== 'error') return undefined;
  if (isModeration(error)) return moderated(error, mask);
  return new ImageFailure(`The image server failed${messageIn(error, mask)}`);
}

/** The server sent the request elsewhere. */
export function redirected(status: number): ImageFailure {
  return new ImageFailure(`The image server redirected the request (status ${status}), which is not followed.`);
}

/** The server sent something else; `what` describes it. */
export function unusable(what: string): ImageFailure {
  return new ImageFailure(`The image server sent no image but ${what}.`);
}

/** The image exceeds the host's limit. */
export function tooLarge(characters: number): ImageFailure {
  return new ImageFailure(`The image is larger than the ${characters} characters of base64 that are allowed.`);
}

/** There was no answer in time. */
export function tooSlow(ms: number): ImageFailure {
  return new ImageFailure(`The image server did not answer within ${ms} ms.`);
}

/** The connection failed. */
export function unreachable(cause: unknown): ImageFailure {
  return new ImageFailure('The image server could not be reached, or broke off its answer.', { cause });
}

/** Whether a body, or an event of it, exceeded its limit. */
export function isOverLimit(error: unknown): boolean {
  return error instanceof ApiError;
}

function isModeration({ code, type }: JsonObject): boolean {
  return MODERATION.has(code) || MODERATION.has(type);
}

function moderated(error: JsonObject, mask: Mask): ImageFailure {
  return new ImageFailure(`The moderation of the image server refused the image${messageIn(error, mask)}`);
}

function errorIn(body: unknown): JsonObject {
  if (!isRecord(body)) return {};
  if (typeof body.error === 'string') return { message: body.error };
  return isRecord(body.error) ? body.error : body;
}

/** The server's own words, on one line. */
function messageIn({ message }: JsonObject, mask: Mask): string {
  const text = mask(plainTextOf(message)).slice(0, MESSAGE_CHARACTERS).replace(/\s+/g, ' ').trim();
  return text === '' ? '.' : `: ${text}`;
}
