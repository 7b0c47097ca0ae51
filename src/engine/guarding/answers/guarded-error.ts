/** Errors of model servers and of tools, whose texts are guarded as answers are. */
import type { MaybePromise } from '../../../ports/store.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { GuardBlocked } from '../guard/guard-context.ts';
import type { RequestGuards } from '../request/request-guards.ts';

const PLACE = 'error';

/** The error with its texts guarded; any other error is passed on, as no client sees its text. Rejects with `guard_failed`. */
export async function guardError(error: unknown, guards: RequestGuards): Promise<unknown> {
  if (!(error instanceof ApiError)) return error;
  const { message, code, type, param, status, headers, server, advice } = error;
  const about = { status, headers, server, advice, cause: error };
  try {
    const texts = [message, code, type, param ?? ''];
    const shown: string[] = [];
    for (const text of texts) shown.push(await guards.output(text, PLACE));
    if (shown.every((text, at) => text === texts[at])) return error;
    const [shownMessage = '', shownCode = '', shownType = '', shownParam = ''] = shown;
    return new ApiError(shownCode, shownMessage, {
      ...about,
      type: shownType,
      param: param === null ? null : shownParam,
    });
  } catch (failure) {
    if (!(failure instanceof GuardBlocked)) throw failure;
    return new ApiError('content_filter', "This server's policy does not let the text of an error pass.", about);
  }
}

/** The value, or its error guarded. */
export function withGuardedErrors<Value>(
  run: () => MaybePromise<Value>,
  guards: RequestGuards | undefined,
): MaybePromise<Value> {
  return guards?.guardsOutput ? runGuarded(run, guards) : run();
}

async function runGuarded<Value>(run: () => MaybePromise<Value>, guards: RequestGuards): Promise<Value> {
  try {
    return await run();
  } catch (error) {
    throw await guardError(error, guards);
  }
}
