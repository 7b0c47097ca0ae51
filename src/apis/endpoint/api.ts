/** An API as a value: what `openResponses` serves beside the APIs of models, in every host. */
import type { GuardSettings } from '../../engine/guarding/guard/settings.ts';
import type { Activity } from '../../engine/request/activity.ts';
import type { Webhooks } from '../../engine/webhooks/webhooks.ts';
import type { BackgroundEngine } from '../../ports/background/background-engine.ts';
import type { FileStore } from '../../ports/files/file-store.ts';
import type { Limits } from '../../ports/limits.ts';
import type { MaybePromise, ResponseKey, ResponseStore } from '../../ports/store.ts';
import type { ApprovalPolicy, ToolsOf } from '../../ports/tool-provider.ts';
import type { Reply } from '../../protocol/reply.ts';
import type { EndpointSettings } from './endpoint.ts';
import type { ApiDescription } from './operation.ts';
import type { Route } from './routes.ts';

/** An API to be served beside those of models, such as `filesApi({ files })`; only this package makes them. */
export interface Api {
  /** A short name for messages and the status, such as `files`. */
  readonly name: string;
  /** The store of uploaded files that it works on: the requests of all other APIs find their files there. */
  readonly files?: FileStore | undefined;
  /** Makes its routes over what all APIs share; called once by each `openResponses` that is given it. */
  open(host: ApiHost): OpenApi;
  /** Releases what the API was made of. May be called twice. */
  readonly close?: (() => MaybePromise<void>) | undefined;
}

/** What all APIs of one `openResponses`, or of one router, share. */
export interface ApiHost extends EndpointSettings {
  readonly limits: Limits;
  /** Tells every API that an uploaded file is deleted, so that nothing made of it stays behind. */
  readonly forgetFile: (key: ResponseKey) => Promise<void>;
  /** Asks the APIs of models beside it. */
  readonly endpointAt: EndpointFinder;
  /** The store as requests see it: the API's own, or that of all responses. */
  readonly storeFor: (own: ResponseStore | undefined) => ResponseStore;
  /** Seals what leaves the server; undefined if the host has set none. */
  readonly secret: string | Uint8Array | undefined;
  /** Tells tenants of what has ended; undefined if the host has none. */
  readonly webhooks: Webhooks | undefined;
  /** The tools of the host's requests; undefined if it has none. */
  readonly toolsOf: ToolsOf | undefined;
  /** Which of them need the user's approval; undefined if none do. */
  readonly approval: ApprovalPolicy | undefined;
  /** What inspects the arguments and results of tools; undefined if nothing does. */
  readonly guards: GuardSettings | undefined;
  /** Makes an engine that runs everything in this process. */
  readonly processEngine: () => BackgroundEngine;
}

/**
 * Finds what answers a `POST` to a path of an API of models, such as `/responses`, without HTTP; undefined for any other path. Only
 * APIs that call models are asked, so that no request of this kind can begin further ones.
 */
export type EndpointFinder = (path: string) => ((request: InnerRequest) => Promise<Reply>) | undefined;

/** A request that begins in this process, such as a line of a batch. The host's functions receive a `RestoredRequest`. */
export interface InnerRequest {
  /** The JSON. */
  readonly body: unknown;
  /** The headers: a budget by key and the host's functions read them. */
  readonly headers: Headers;
  /** The tenant whose request it is. */
  readonly scope: string;
  /** Aborted when nobody wants the answer any more: then the answer rejects. */
  readonly signal: AbortSignal;
}

/** An API whose routes a host can serve: no route knows which host that is. */
export interface OpenApi {
  readonly routes: readonly Route[];
  /** What the OpenAPI document says of the routes, loaded and made only for it. Default: what the routes themselves tell. */
  readonly describe?: (() => Promise<readonly ApiDescription[]>) | undefined;
  /** How errors are written that are found before an endpoint runs. Default: in OpenAI's envelope. */
  readonly envelopeOf?: EndpointSettings['envelopeOf'];
  /** Removes what it has made of an uploaded file that is deleted. */
  readonly forgetFile?: ((key: ResponseKey) => Promise<void>) | undefined;
  /** Refuses new work and resolves when none is running. An API whose requests are over at once needs none. */
  readonly drain?: Activity['drain'] | undefined;
  /** What works now, read within a second or so; never rejects. */
  readonly status?: (() => Promise<ApiStatus>) | undefined;
}

/** An API that runs turns of a model. */
export interface ModelApi extends OpenApi {
  readonly drain: Activity['drain'];
  readonly running: () => RunningTurns;
  /** Routes that requests of this process find by `endpointAt`, and no client. */
  readonly inner?: readonly Route[] | undefined;
}

/** How many responses run. */
export interface RunningTurns {
  /** Of all kinds. */
  readonly inFlight: number;
  /** Those that no client waits for, here or in the queue. */
  readonly background: number;
  /** Those that wait for a place. */
  readonly waiting: number;
}

/** What works of an API beside those of models. */
export interface ApiStatus {
  /** Whether its store answers a read within a second. */
  readonly ok: boolean;
  /** The `name` of the store. */
  readonly kind: string;
  /** How many uploads run now; absent of an API that takes none. */
  readonly uploads?: number;
}
