/** Reads a client's message: a request like the body of `POST /responses`, and the fields that only a WebSocket has. */
import { ApiError, toApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type BodyLimits, bodyErrors, parseBody } from '../../server/json-body.ts';
import type { SteerMessage } from './steering.ts';

/** A request for a response. */
export interface CreateMessage {
  /** The `stream_id`. */
  readonly lane: string | undefined;
  readonly body: JsonObject;
  /** False for a warm-up: the response is prepared and stored, and the model is not called. */
  readonly generate: boolean;
}

/** A message that can only be answered with an error. */
export interface BadMessage {
  readonly lane: string | undefined;
  readonly error: ApiError;
  /** Whether its error skips the queue: no message of its type gets a response. */
  readonly atOnce?: boolean;
}

/** Reads the bytes of one text frame; undefined stands for a binary one. */
export function readMessage(
  bytes: Uint8Array | undefined,
  limits: BodyLimits,
): CreateMessage | SteerMessage | BadMessage {
  const fields = bytes === undefined ? notText() : parsed(bytes, limits);
  if (fields instanceof ApiError) return { lane: undefined, error: fields };
  const { type, stream_id: lane, generate, stream, stream_options, background, ...body } = fields;
  if (type === 'response.steer') return steerMessage(body, bytes?.byteLength ?? 0);
  if (!isLane(lane)) return { lane: undefined, error: wrongLane(lane) };
  const unknown = wrongType(type);
  if (unknown) return { lane: lane ?? undefined, error: unknown, atOnce: true };
  const error = wrongGenerate(generate);
  if (error) return { lane: lane ?? undefined, error };
  return { lane: lane ?? undefined, generate: generate !== false, body: { ...body, stream: true } };
}

function steerMessage({ previous_response_id: steered, input }: JsonObject, bytes: number): SteerMessage | BadMessage {
  if (typeof steered === 'string') return { steered, input, bytes };
  const error = new ApiError(
    steered === undefined ? 'missing_required_parameter' : 'invalid_type',
    "'previous_response_id' must be the id of the response to steer.",
    { param: 'previous_response_id' },
  );
  return { lane: undefined, error, atOnce: true };
}

function notText(): ApiError {
  return new ApiError('unsupported_media_type', 'A message must be JSON in a text frame.');
}

function parsed(bytes: Uint8Array, limits: BodyLimits): JsonObject | ApiError {
  if (bytes.byteLength === 0) return bodyErrors.malformed(undefined);
  try {
    const value = parseBody(bytes, limits);
    return isRecord(value) ? value : new ApiError('invalid_json', 'A message must be a JSON object.');
  } catch (error) {
    return toApiError(error);
  }
}

/** Safe to write into JSON unescaped. */
const LANE = /^[A-Za-z0-9_.-]{1,256}$/;

function isLane(lane: unknown): lane is string | null | undefined {
  return lane === undefined || lane === null || (typeof lane === 'string' && LANE.test(lane));
}

function wrongLane(lane: unknown): ApiError {
  const message = "Invalid 'stream_id': it must be 1 to 256 of the characters A-Z, a-z, 0-9, '_', '.' and '-'.";
  return new ApiError(typeof lane === 'string' ? 'invalid_value' : 'invalid_type', message, { param: 'stream_id' });
}

/** Number of characters shown of an unknown type. */
const SHOWN_TYPE = 64;

function wrongType(type: unknown): ApiError | undefined {
  if (type === 'response.create') return undefined;
  const known = "The supported values are 'response.create' and 'response.steer'.";
  if (type === undefined)
    return new ApiError('missing_required_parameter', `Missing required parameter: 'type'. ${known}`, {
      param: 'type',
    });
  const given = typeof type === 'string' ? `: '${type.slice(0, SHOWN_TYPE)}'` : '';
  return new ApiError('invalid_value', `Invalid value for 'type'${given}. ${known}`, { param: 'type' });
}

function wrongGenerate(generate: unknown): ApiError | undefined {
  if (generate === undefined || generate === null || typeof generate === 'boolean') return undefined;
  return new ApiError('invalid_type', "Invalid type for 'generate': it must be a boolean.", { param: 'generate' });
}
