/** The options of `responsesUpstream`, checked once. */
import { boolean, checkOptions, type OptionCheck } from '../../ports/host/options-check.ts';
import { isRecord } from '../../protocol/record.ts';
import {
  openaiServer,
  type ServerOptions,
  type ServerSettings,
  serverChecks,
  serverSettings,
} from '../http/server-options.ts';

/** The address of the model server and the form of requests to it. `undefined` means omitted. */
export interface ResponsesOptions extends ServerOptions {
  /** Up to and including `/v1`. Default: `OPENAI_BASE_URL`, or OpenAI itself. */
  readonly baseURL?: string | undefined;
  /**
   * Sent as a bearer token; omitted if empty. Default: `OPENAI_API_KEY`, but only if `baseURL` is not
   * given either: a key belongs to its server and must not be sent to another one by omission.
   */
  readonly apiKey?: string | undefined;
  /** Whether the model summarises its reasoning, for requests without `reasoning.summary`. Default: the server's. */
  readonly reasoningSummary?: 'auto' | 'concise' | 'detailed' | undefined;
  /** Whether the model is sent its reasoning back, in encrypted form. Default: true. */
  readonly reasoningReplay?: boolean | undefined;
  /** Tools that the model server runs itself, sent unchanged with every request, such as `{ type: 'web_search' }`. Default: none. */
  readonly serverTools?: readonly HostedTool[] | undefined;
  /**
   * Which tools of clients the model server receives as they are, if this server does not run them itself: of all types, of these,
   * or none. For a server that takes functions only, set it to false. Default: true.
   */
  readonly nativeTools?: boolean | readonly string[] | undefined;
}

/** A tool that the model server runs; further fields are the API's. */
export interface HostedTool {
  /** The API's name for the tool, such as `web_search`. */
  readonly type: string;
  readonly [field: string]: unknown;
}

/** The options with every default filled in. */
export interface ResponsesSettings extends ServerSettings {
  readonly baseURL: URL;
  readonly apiKey: string | undefined;
  readonly reasoningSummary: ResponsesOptions['reasoningSummary'];
  readonly reasoningReplay: boolean;
  readonly serverTools: readonly HostedTool[];
  readonly nativeTools: boolean | readonly string[];
  /** Whether the server obeys `allowed_tools`. */
  readonly knowsAllowedTools: boolean;
}

const NAME = 'responsesUpstream';
const SUMMARIES: readonly unknown[] = ['auto', 'concise', 'detailed'];
const CLIENT_TYPES: readonly unknown[] = ['function', 'custom', 'namespace'];

const toolsOption: OptionCheck = (value) =>
  (Array.isArray(value) &&
    value.every(
      (tool) =>
        isRecord(tool) && typeof tool.type === 'string' && tool.type !== '' && !CLIENT_TYPES.includes(tool.type),
    )) ||
  'a list of tools of a type that the model server runs';

const nativeOption: OptionCheck = (value) =>
  typeof value === 'boolean' ||
  (Array.isArray(value) && value.every((type) => typeof type === 'string' && type !== '')) ||
  'true, false or a list of types of tools';

/** Fills in the defaults; throws a `TypeError` that names the option and quotes its value. */
export function responsesSettings(options: ResponsesOptions): ResponsesSettings {
  checkOptions(NAME, options, {
    ...serverChecks,
    reasoningSummary: (value) => SUMMARIES.includes(value) || "one of 'auto', 'concise', 'detailed'",
    reasoningReplay: boolean,
    serverTools: toolsOption,
    nativeTools: nativeOption,
  });
  const server = openaiServer(NAME, options);
  return {
    ...serverSettings(options),
    ...server,
    // Other servers of this API ignore it, or refuse the request.
    knowsAllowedTools: server.baseURL.hostname === 'api.openai.com',
    reasoningSummary: options.reasoningSummary,
    reasoningReplay: options.reasoningReplay ?? true,
    serverTools: options.serverTools ?? [],
    nativeTools: options.nativeTools ?? true,
  };
}
