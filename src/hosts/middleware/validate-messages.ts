/** Checks conversations before a model server refuses them, and repairs them if possible. */

import { repairMessages } from '../../apis/chat-completions/request/repair.ts';
import type { Prepare } from '../../apis/endpoint/prepare.ts';
import { repairTurns } from '../../apis/messages/repair.ts';
import { repairInput } from '../../apis/responses/repair.ts';
import { type Repair, type Repaired, rejectFirst } from '../../engine/history/repair.ts';
import { callHookSafely } from '../../ports/hooks.ts';
import { isOneOf } from '../../ports/host/options-check.ts';
import { isRecord } from '../../protocol/record.ts';
import type { NodeRequest } from '../node/node-request.ts';
import { asMiddleware, type HostMiddleware } from './as-middleware.ts';
import { type MiddlewareOptions, middlewareSettings } from './options.ts';

/** Repair or reject, and the callback for repairs. */
export interface ValidateMessagesOptions<Req extends NodeRequest = NodeRequest> extends MiddlewareOptions<Req> {
  /** `reject` answers 400 naming the invalid message; `repair` passes the repaired conversation on. Default: `repair`. */
  readonly mode?: 'repair' | 'reject' | undefined;
  /** Receives the repairs of a request, if there were any. An error it throws becomes a process warning. Default: none. */
  readonly onRepair?: ((repairs: readonly Repair[], info: { readonly requestId: string }) => void) | undefined;
}

/**
 * Puts tool results in their place: removes duplicates and those without a call, fills in missing ones, moves each after
 * its call; replaces arguments that are not JSON by `{}`, removes nameless calls and empty messages, and merges
 * adjacent assistant messages. A result whose call may be in a conversation that the request only names is left alone,
 * unless `loadHistory` stands before. Throws a `TypeError` for a bad option.
 *
 * @example
 * ```ts
 * import express, { type RequestHandler } from 'express';
 * import { validateMessages } from 'express-open-responses';
 *
 * declare const proxy: RequestHandler;
 * const validate = validateMessages({ onRepair: (repairs) => console.warn(repairs) });
 * express().post('/v1/chat/completions', express.json({ limit: '10mb' }), validate, proxy);
 * ```
 */
export function validateMessages<Req extends NodeRequest = NodeRequest>(
  options: ValidateMessagesOptions<Req> = {},
): HostMiddleware<Req> {
  const checks = {
    mode: isOneOf('repair', 'reject'),
    onRepair: (value: unknown) => typeof value === 'function' || 'a function',
  };
  const settings = middlewareSettings('validateMessages', options, checks);
  const { mode = 'repair', onRepair } = options;
  const step = (field: string, repair: (list: readonly unknown[], continues: boolean) => Repaired<unknown>): Prepare =>
    function repairStep(request) {
      const { body } = request;
      if (!isRecord(body) || !Array.isArray(body[field])) return request;
      const before: readonly unknown[] = body[field];
      const { list, places, repairs } = repair(
        before,
        Boolean(body.previous_response_id || body.conversation || body.thread),
      );
      if (mode === 'reject') rejectFirst(repairs);
      if (mode === 'reject' || repairs.length === 0) return request;
      callHookSafely('onRepair', () => onRepair?.(repairs, { requestId: request.requestId }), settings.recorder);
      const { context } = request;
      const repaired = { ...request, body: { ...body, [field]: list } };
      if (!context?.history) return repaired;
      // Loaded and repaired messages still do not count as the client's own, or each turn would store them again.
      const known = new Set(context.history.loaded);
      const loaded = list.filter((_, at) => known.has(before[places[at] ?? -1]));
      return { ...repaired, context: { ...context, history: { ...context.history, loaded } } };
    };
  return asMiddleware(
    {
      responses: step('input', repairInput),
      'chat-completions': step('messages', repairMessages),
      messages: step('messages', repairTurns),
    },
    settings,
  );
}
