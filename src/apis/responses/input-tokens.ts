/** `POST /responses/input_tokens`: what a request would cost before its answer. */
import type { Activity } from '../../ports/activity.ts';
import type { Call } from '../../ports/api-request.ts';
import { bringLimits } from '../../ports/brought.ts';
import { isRecord } from '../../protocol/record.ts';
import { jsonReply, type Reply } from '../../protocol/reply.ts';
import type { CoreSettings } from '../../server/options.ts';
import { beginTurn } from '../../turn/lifetime.ts';
import { prepareRequest } from './prepare-request.ts';
import { validateCreate } from './validate.ts';

/** What stands for a model where none is named: every encoding counts a text without knowing who will read it. */
const NO_MODEL = 'unknown';

/** Counts what the model would be told, history and tools included. Throws `ApiError` as `POST /responses` does. Counts as a turn. */
export async function countInputTokens(call: Call, settings: CoreSettings, turns: Activity): Promise<Reply> {
  const { limits } = settings;
  const { signal, leave } = beginTurn(call, limits.durationMs, turns);
  try {
    const body = wholeBody(call.body);
    const checked = validateCreate(body, bringLimits(call, limits));
    const { request } = await prepareRequest({ ...call, body, signal }, checked, settings);
    const tokens = await settings.countTokens(request, signal);
    return jsonReply({ object: 'response.input_tokens', input_tokens: tokens });
  } finally {
    leave();
  }
}

/** The body with what only an answer needs. */
function wholeBody(body: unknown): unknown {
  if (!isRecord(body)) return body;
  return { ...body, model: body.model ?? NO_MODEL, input: body.input ?? [] };
}
