/** All APIs as one function from a request to a reply, for frameworks without a router in this package. */

import type { ChatSettings } from '../apis/chat-completions/chat-request.ts';
import { chatRoutes } from '../apis/chat-completions/endpoints.ts';
import type { ApiRoutes } from '../apis/endpoint/routes.ts';
import type { DrainOptions } from '../engine/request/activity.ts';
import { checkOptions } from '../ports/host/options-check.ts';
import { anthropicRoutes } from './messages-routes.ts';
import { type CoreSettings, coreSettings } from './options/core-settings.ts';
import { coreChecks } from './options/option-checks.ts';
import type { AnyCoreOptions, CoreOptions } from './options/options.ts';
import { reportedRoutes } from './reported-routes.ts';
import { responsesRoutes } from './responses-routes.ts';
import { type ServedApi, servedRoutes } from './served-routes.ts';

/** One API whose answers may take long, or several as one. */
export interface Api<Req = unknown> extends ServedApi<Req> {
  /** Refuses new requests and resolves when every running answer has ended; see `DrainOptions`. */
  drain(options?: DrainOptions): Promise<void>;
}

/**
 * The Responses API. Throws a `TypeError` for an unknown option or a bad value.
 *
 * @example
 * ```ts
 * import { createResponses } from 'express-open-responses/core';
 *
 * const api = createResponses();
 * const headers = { 'content-type': 'application/json' };
 * const body = { model: 'my-model', input: 'Hello' };
 * const signal = AbortSignal.timeout(60_000);
 * const reply = await api.handle({ method: 'POST', path: '/responses', headers, body, signal });
 * ```
 */
export function createResponses<Req = unknown>(options: CoreOptions<Req> = {}): Api<Req> {
  const settings = checkedSettings('createResponses', options);
  return buildApi(settings, responsesRoutes(settings));
}

/** The Chat Completions API. Throws a `TypeError` also for an upstream that does not support it. */
export function createChatCompletions<Req = unknown>(options: CoreOptions<Req> = {}): Api<Req> {
  const settings = requireChatSettings('createChatCompletions', checkedSettings('createChatCompletions', options));
  return buildApi(settings, chatRoutes(settings));
}

/** The Messages API. Throws a `TypeError` for an unknown option or a bad value. */
export function createMessages<Req = unknown>(options: CoreOptions<Req> = {}): Api<Req> {
  const settings = checkedSettings('createMessages', options);
  return buildApi(settings, anthropicRoutes(settings));
}

/**
 * The Responses API, the Messages API, Chat Completions if the upstream supports it, and `others`, as one; `scope` is
 * the host's, if it has set one.
 */
export function allApis(settings: CoreSettings, others: readonly ServedApi[] = [], scope?: unknown): Api {
  const responses = buildApi(settings, responsesRoutes(settings), scope);
  const chat = speaksChat(settings) ? [buildApi(settings, chatRoutes(settings), scope)] : [];
  const apis = [responses, ...chat, buildApi(settings, anthropicRoutes(settings), scope)];
  const served = [...apis, ...others];
  return {
    handle(request) {
      for (const api of served) {
        const reply = api.handle(request);
        if (reply) return reply;
      }
      return undefined;
    },
    refuse: responses.refuse,
    drain: async (options) => void (await Promise.all(apis.map((api) => api.drain(options)))),
  };
}

/** The settings, if the upstream can serve Chat Completions. */
export function requireChatSettings(owner: string, settings: CoreSettings): CoreSettings & ChatSettings {
  if (speaksChat(settings)) return settings;
  throw new TypeError(`${owner}: upstream must speak Chat Completions, got '${settings.upstream.name}'`);
}

function speaksChat(settings: CoreSettings): settings is CoreSettings & ChatSettings {
  return settings.upstream.chat !== undefined;
}

function checkedSettings(owner: string, options: AnyCoreOptions): CoreSettings {
  checkOptions(owner, options, coreChecks);
  return coreSettings(owner, options);
}

function buildApi(settings: CoreSettings, api: ApiRoutes, scope?: unknown): Api {
  const { routes, drain } = reportedRoutes(api, settings, scope);
  return { ...servedRoutes(routes, { ...settings, envelopeOf: api.envelopeOf }), drain };
}
