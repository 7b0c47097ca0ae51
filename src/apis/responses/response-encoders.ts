/** How the events of one response are encoded for each client that reads them. */
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { StoredResponse } from '../../ports/store.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { queryPresenter } from '../../protocol/tool-calls/kinds.ts';
import { requestHeartbeat } from '../endpoint/prepare.ts';
import { Encoder, type EncoderOptions } from './encoding/encoder.ts';
import type { PreparedTurn } from './prepare-turn.ts';
import type { ResponsesApiSettings } from './turn/settings.ts';

/** The encoding of the events of a response that this process did not prepare. */
export function storedEncoders(
  { resource }: StoredResponse,
  settings: ResponsesApiSettings,
): (reader: EndpointRequest) => Encoder {
  const { logged, requested, ...ended } = resource;
  const nothing = { status: 'in_progress', completed_at: null, error: null, incomplete_details: null, usage: null };
  const started = { ...ended, ...(isRecord(requested) ? requested : {}), ...nothing, output: [] };
  const include = isRecord(logged) ? logged.include : undefined;
  const tools = (Array.isArray(resource.tools) ? resource.tools : []) as readonly JsonObject[];
  const clientNames = new Set(tools.map(({ name }) => name));
  return encoderFactory({ started, include, isServerTool: (name) => !clientNames.has(name) }, settings);
}

/** The encoding settings that are the same for every reader. */
interface ResponseFields extends Pick<EncoderOptions, 'started' | 'isServerTool'>, Pick<PreparedTurn, 'include'> {}

/** Those of a prepared turn. A function of its own, so that a response that has ended retains nothing of its request. */
export function responseFields({ started, include, turn }: PreparedTurn): ResponseFields {
  const { owners } = turn.plan;
  return { started, include, isServerTool: (name) => owners.has(name) };
}

/** Makes the encoder of each reader. */
export function encoderFactory(
  { include, ...fields }: ResponseFields,
  settings: ResponsesApiSettings,
): (reader: EndpointRequest) => Encoder {
  return (reader) => {
    const keepalive = requestHeartbeat(reader, settings).style === 'ping' ? 'ping' : 'keepalive';
    const dialect = settings.dialectOf(reader.request);
    // One who reads the events again may want to see more than the one who made the request.
    const presentItem = queryPresenter(reader.query, false, include);
    return new Encoder({ reasoning: settings.reasoning, keepalive, dialect, ...fields, presentItem });
  };
}
