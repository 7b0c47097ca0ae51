/** Reads a client's message: a request like the body of `POST /responses`, and the fields that only a WebSocket has. */
import { ApiError, toApiError } from '../../protocol/errors.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { type BodyLimits, bodyErrors, parseBody } from '../../server/requests/json-body.ts';
import type { InjectMessage } from './injection.ts';
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

/** Safe to write into JSON unescaped. */
const LANE = /^[A-Za-z0-9_.-]{1,256}$/;

/** Reads the bytes of one text frame; undefined stands for a binary one. `injects` is whether the client may answer calls of running responses. */
export function readMessage(
  bytes: Uint8Array | undefined,
  limits: BodyLimits,
  injects = false,
): CreateMessage | SteerMessage | InjectMessage | BadMessage {
  if (bytes === undefined)
    return badMessage(new ApiError('unsupported_media_type', 'A message must be JSON in a text frame.'));
  if (bytes.byteLength === 0) return badMessage(bodyErrors.malformed(undefined));
  let fields: unknown;
  try {
    fields = parseBody(bytes, limits);
  } catch (error) {
    return badMessage(toApiError(error));
  }
  if (!isRecord(fields)) return badMessage(new ApiError('invalid_json', 'A message must be a JSON object.'));

  const { type, stream_id: lane, generate, stream, stream_options, background, ...body } = fields;
  if (type === 'response.steer') {
    const { previous_response_id: steered, input } = body;
    if (typeof steered === 'string') return { steered, input, bytes: bytes.byteLength };
    const code = steered === undefined ? 'missing_required_parameter' : 'invalid_type';
    const message = "'previous_response_id' must be the id of the response to steer.";
    return { ...badMessage(new ApiError(code, message, { param: 'previous_response_id' })), atOnce: true };
  }
  if (injects && type === 'response.inject') {
    const { response_id: injected, input } = body;
    if (typeof injected === 'string') return { injected, input };
    const code = injected === undefined ? 'missing_required_parameter' : 'invalid_type';
    const message = "'response_id' must be the id of the response that runs.";
    return { ...badMessage(new ApiError(code, message, { param: 'response_id' })), atOnce: true };
  }
  if (lane !== undefined && lane !== null && !(typeof lane === 'string' && LANE.test(lane))) {
    const message = "Invalid 'stream_id': it must be 1 to 256 of the characters A-Z, a-z, 0-9, '_', '.' and '-'.";
    const code = typeof lane === 'string' ? 'invalid_value' : 'invalid_type';
    return badMessage(new ApiError(code, message, { param: 'stream_id' }));
  }
  if (type !== 'response.create') return { ...badMessage(typeError(type, injects), lane), atOnce: true };
  if (generate !== undefined && generate !== null && typeof generate !== 'boolean') {
    const message = "Invalid type for 'generate': it must be a boolean.";
    return badMessage(new ApiError('invalid_type', message, { param: 'generate' }), lane);
  }
  return { lane: lane ?? undefined, generate: generate !== false, body: { ...body, stream: true } };
}

function badMessage(error: ApiError, lane?: string | null): BadMessage {
  return { lane: lane ?? undefined, error };
}

/** Number of characters shown of an unknown type. */
const MAX_QUOTED_TYPE = 64;

function typeError(type: unknown, injects: boolean): ApiError {
  const types = injects
    ? "'response.create', 'response.steer' and 'response.inject'"
    : "'response.create' and 'response.steer'";
  const supported = `The supported values are ${types}.`;
  if (type === undefined)
    return new ApiError('missing_required_parameter', `Missing required parameter: 'type'. ${supported}`, {
      param: 'type',
    });
  const quoted = typeof type === 'string' ? `: '${type.slice(0, MAX_QUOTED_TYPE)}'` : '';
  return new ApiError('invalid_value', `Invalid value for 'type'${quoted}. ${supported}`, { param: 'type' });
}
