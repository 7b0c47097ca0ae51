/** The options of the inspector, checked once. */
import type { IncomingMessage } from 'node:http';
import type { Webhooks } from '../../../engine/webhooks/webhooks.ts';
import type { Admission } from '../../../ports/host/admission.ts';
import {
  boolean,
  checkOptions,
  isFunction,
  type OptionCheck,
  positiveInteger,
  withMethods,
} from '../../../ports/host/options-check.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { WatchedContainers } from '../recording/container-uses.ts';
import type { Redact } from '../recording/request-text.ts';

/** Where the playground sends its requests. */
export interface PlaygroundOptions {
  /** Where the API is mounted in this app, such as `/v1`. */
  readonly path: string;
}

/** How much the inspector keeps, and who may see it. `Req` is the request type of the host's framework. */
export interface InspectorOptions<Req extends IncomingMessage = IncomingMessage> {
  /** How many responses are kept; the oldest is dropped first. Default: 1,000. */
  readonly maxResponses?: number | undefined;
  /** How much memory they take together, in bytes, at two bytes a character; answers of model servers in blocks of 4 KiB. Default: 64 MiB. */
  readonly maxBytes?: number | undefined;
  /** How much is kept of each body and item, in characters, and of each answer of a model server, in bytes; pages show how much is missing. Default: 65,536. */
  readonly bodyCharacters?: number | undefined;
  /**
   * Admits a request by `true`, or refuses it by `false` or `{ status, message }`; the same function may serve a WebSocket, so that
   * `{ scope }` admits too. Default: only requests from this machine are admitted, by the address of the socket,
   * whose `Host` is a name of this machine.
   */
  readonly authorize?: ((request: Req) => MaybePromise<Admission>) | undefined;
  /** Whether an authentication middleware runs before the inspector, so that every request that arrives is admitted. Default: false. */
  readonly behindAuth?: boolean | undefined;
  /**
   * Whether the page can send requests to the API of this app, which answers them as it would any client, and run the tools of the observed
   * routers; true for an API at `/v1`. Default: false.
   */
  readonly playground?: boolean | PlaygroundOptions | undefined;
  /**
   * Returns the value to keep in place of an item of a request or an answer, or of a message. With it, the text of model calls is not kept,
   * since it contains the same text. Default: items are kept as they are, without secrets.
   */
  readonly redact?: Redact | undefined;
  /** Made by `createWebhooks`: the last deliveries of a tenant are at `api/webhooks?tenant=…`. Default: none. */
  readonly webhooks?: Pick<Webhooks, 'deliveries'> | undefined;
  /**
   * Made by `containers`, or several of them: a page shows what ran in each container, what it printed, and its files. Default: none.
   */
  readonly containers?: WatchedContainers | readonly WatchedContainers[] | undefined;
  /** Made by `batchesApi`: the last batches of a tenant are on a page with its webhooks. Default: none. */
  readonly batches?: BatchSource | undefined;
}

/** What tells the last batches of a tenant: what `batchesApi` returns does. */
export interface BatchSource {
  /** The newest first, in the form of OpenAI's batch object, of both APIs. Rejects if the store fails. */
  recent(scope: string): Promise<readonly JsonObject[]>;
}

/** The options with every default filled in. */
export interface InspectorSettings {
  readonly maxResponses: number;
  readonly maxBytes: number;
  readonly bodyCharacters: number;
  readonly authorize: ((request: IncomingMessage) => MaybePromise<Admission>) | undefined;
  readonly behindAuth: boolean;
  /** Where the API is mounted; undefined for no playground. */
  readonly apiPath: string | undefined;
  readonly redact: Redact | undefined;
  readonly webhooks: Pick<Webhooks, 'deliveries'> | undefined;
  readonly batches: BatchSource | undefined;
  readonly containers: readonly WatchedContainers[];
}

const OWNER = 'createInspector';
const MIN_BYTES = 1024 * 1024;

/** Throws a `TypeError` that names the option and quotes its value. */
export function inspectorSettings(options: InspectorOptions<never>): InspectorSettings {
  checkOptions(OWNER, options, checks);
  const { authorize, behindAuth = false, playground = false } = options;
  if (authorize && behindAuth)
    throw new TypeError(`${OWNER}: behindAuth admits every request, so authorize would never run; set one of them`);
  return {
    maxResponses: options.maxResponses ?? 1000,
    maxBytes: options.maxBytes ?? 64 * MIN_BYTES,
    bodyCharacters: options.bodyCharacters ?? 65_536,
    // The cast: the host states the type that its earlier handlers give a request.
    authorize: authorize as InspectorSettings['authorize'],
    behindAuth,
    apiPath: typeof playground === 'object' ? playground.path : playground ? '/v1' : undefined,
    redact: options.redact,
    webhooks: options.webhooks,
    batches: options.batches,
    containers: options.containers === undefined ? [] : [options.containers].flat(),
  };
}

const isPath = (value: unknown) => typeof value === 'string' && /^\/[\w./-]*$/.test(value);

const areWatched = withMethods('watch', 'find', 'files');

const checks: Readonly<Record<string, OptionCheck>> = {
  maxResponses: positiveInteger,
  maxBytes: (value) =>
    (positiveInteger(value) === true && Number(value) >= MIN_BYTES) || `a whole number from ${MIN_BYTES}`,
  bodyCharacters: positiveInteger,
  authorize: isFunction,
  behindAuth: boolean,
  playground: (value) =>
    typeof value === 'boolean' || (isRecord(value) && isPath(value.path)) || "true, false or { path: '/v1' }",
  redact: isFunction,
  webhooks: withMethods('deliveries'),
  batches: withMethods('recent'),
  containers: (value) => [value].flat().every((each) => areWatched(each) === true) || areWatched(undefined),
};
