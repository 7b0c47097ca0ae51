/** The Responses API as functions from a request to a reply, for any framework. */

import { setTimeout as sleep } from 'node:timers/promises';
import { BackgroundRuns } from '../apis/background/background-runs.ts';
import { cancelResponse, createDurable, createInBackground, replayEvents } from '../apis/background/endpoints.ts';
import { Followers } from '../apis/background/followers.ts';
import { createResponse, prepareForBackground } from '../apis/responses/create.ts';
import { storedEncoders } from '../apis/responses/response-encoders.ts';
import { submitToolOutputs } from '../apis/responses/submit-tool-outputs.ts';
import { dropPendingCalls } from '../engine/approvals/pending-call.ts';
import { withdrawTurn } from '../engine/history/conversation.ts';
import { type Activity, DRAIN_MS, type DrainOptions } from '../engine/request/activity.ts';
import type { EndpointRequest } from '../engine/request/endpoint-request.ts';
import type { Lifetime } from '../engine/turn/lifetime.ts';
import { isUntracked } from '../ports/scope.ts';
import { fromStore, isRunning, type StoredResponse, storedVersion } from '../ports/store.ts';
import { ApiError } from '../protocol/errors.ts';
import { isRecord, type JsonObject } from '../protocol/record.ts';
import { type JsonReply, jsonReply, type Reply } from '../protocol/reply.ts';
import { inProcessEngine } from '../stores/queues/in-process/in-process-engine.ts';
import type { CoreSettings } from './options/core-settings.ts';
import { settingsFor } from './options/presentation.ts';
import { findResponse, inputItemsReply, responseIdIn, responseNotFound, storedReply } from './stored-responses.ts';

/** How long what follows the end of a response has after a drain's deadline, in milliseconds. */
const GRACE_MS = 1000;

/** The endpoints over one router's settings. */
export class ResponsesEndpoints {
  readonly turns: Activity;
  private readonly settings: CoreSettings;
  private readonly background: BackgroundRuns;
  private readonly followers: Followers;
  private readonly engine: NonNullable<CoreSettings['engine']>;

  constructor(settings: CoreSettings) {
    this.settings = settings;
    this.turns = settings.turns;
    this.followers = new Followers(settings.limits);
    const own = settings.engine ?? inProcessEngine();
    this.engine = settings.webhooks ? settings.webhooks.watch(own, settings.store) : own;
    this.background = new BackgroundRuns({ ...settings, engine: this.engine }, this.turns, (request, life, resumed) =>
      prepareRun(request, settingsFor(settings, request), life, { isLogged: true, resumed }),
    );
  }

  async create(apiRequest: EndpointRequest): Promise<JsonReply | Reply> {
    const own = settingsFor(this.settings, apiRequest);
    const prepare = (request: EndpointRequest, life: Lifetime, isLogged: boolean) =>
      prepareRun(request, own, life, { isLogged });
    const body: JsonObject = isRecord(apiRequest.body) ? apiRequest.body : {};
    if (body.background === true) return createInBackground(apiRequest, own, this.parts, prepare);
    // A response that nobody may retrieve ends with its client.
    const canRetrieve = body.store !== false && !isUntracked(apiRequest.scope);
    if (own.durable && body.stream === true && canRetrieve) return createDurable(apiRequest, own, this.parts, prepare);
    return createResponse(apiRequest, own, this.turns);
  }

  async retrieve(apiRequest: EndpointRequest) {
    const response = await findResponse(apiRequest, this.settings);
    if (apiRequest.query.stream !== 'true') return storedReply(apiRequest, response);
    const own = settingsFor(this.settings, apiRequest);
    const readerOf = (stored: StoredResponse) => storedEncoders(stored, own);
    return replayEvents(apiRequest, response, own, { ...this.parts, readerOf });
  }

  async inputItems(apiRequest: EndpointRequest) {
    return inputItemsReply(apiRequest, await findResponse(apiRequest, this.settings));
  }

  async remove(apiRequest: EndpointRequest) {
    const { store } = this.settings;
    const key = { scope: apiRequest.scope, id: responseIdIn(apiRequest) };
    const stored = await fromStore(() => store.get(key));
    const { runs } = this.background;
    await runs.find(key)?.stop();
    runs.forget(key);
    // Before the response: a second request finds that, and so its log, if this fails.
    if (stored?.resource.logged !== undefined) await this.background.forgetEvents(key);
    if (!(await fromStore(() => store.delete(key)))) throw responseNotFound(key.id);
    if (stored && isRunning(stored)) await withdrawTurn(store, { ...stored, version: storedVersion(stored) + 1 });
    await dropPendingCalls(store, key.scope, stored?.output ?? []);
    return jsonReply({ id: key.id, object: 'response', deleted: true });
  }

  async cancel(apiRequest: EndpointRequest) {
    const response = await findResponse(apiRequest, this.settings);
    const now = await cancelResponse(response, this.background, this.settings.store);
    if (!now) throw responseNotFound(response.id);
    return storedReply(apiRequest, now);
  }

  async submit(apiRequest: EndpointRequest) {
    if (!this.settings.dialectOf(apiRequest.request).submitsToolOutputs)
      throw new ApiError('not_found', 'Invalid URL: this server takes tool outputs as input of the next response.');
    return submitToolOutputs(apiRequest, settingsFor(this.settings, apiRequest), this.turns);
  }

  /** Followers last: a turn that ends is theirs to read. */
  async drain(options: DrainOptions = {}): Promise<void> {
    const began = Date.now();
    const { engine } = this;
    // At once: what another process can continue need not end here.
    if (engine.takesOver) await engine.release();
    await this.turns.drain(options);
    const leftMs = () => Math.max((options.timeoutMs ?? DRAIN_MS) - (Date.now() - began), 0);
    await this.followers.drain({ ...options, timeoutMs: leftMs() });
    const closing = engine.close();
    // The host's engine has its own times. What follows the ends of responses in this process is waited for no longer than they are.
    await (this.settings.engine
      ? closing
      : Promise.race([closing, sleep(leftMs() + GRACE_MS, undefined, { ref: false })]));
  }

  get running() {
    const { running: inFlight, waiting } = this.turns;
    return { inFlight, background: this.background.runs.running, waiting };
  }

  private get parts() {
    const { turns, background, followers } = this;
    return { turns, background, followers };
  }
}

/** A response that another process continues if this one cannot is stored, whatever the host wants of others. */
function prepareRun(
  request: EndpointRequest,
  settings: CoreSettings,
  life: Lifetime,
  run: Parameters<typeof prepareForBackground>[3],
) {
  const stored: CoreSettings = settings.engine?.takesOver ? { ...settings, onStoreError: 'fail' } : settings;
  return prepareForBackground(request, stored, life, run);
}
