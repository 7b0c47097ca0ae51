/** Reports a turn's events to the host's hooks. */

import { type Hooks, notify, type ReceiveEvents, type RequestInfo, type UpstreamInfo } from '../../ports/hooks.ts';
import { ApiError, withResponse } from '../../protocol/errors.ts';
import type { TurnError, TurnEvent, UpstreamFacts } from '../../protocol/events.ts';
import type { OutputItem } from '../../protocol/items.ts';
import type { Note } from '../../protocol/note.ts';
import { isRecord } from '../../protocol/record.ts';
import { refusalNote } from './machine/call-permission.ts';

/** Receives batches before they are passed on; `receive` is the host's own receiver of them. */
export function observer(
  info: RequestInfo,
  hooks: Hooks,
  receive?: ReceiveEvents,
): (events: readonly TurnEvent[]) => void {
  const began = Date.now();
  return (events) => {
    receive?.(events);
    for (const event of events) {
      if (event.type === 'call-dropped') notify(hooks, 'onNote', droppedCallNote(event), info);
      if (event.type !== 'turn-end') continue;
      const { status, usage, error, output, upstream = {} } = event;
      // A JSON answer without output is refused with the error's status, and reported there.
      if (error && (info.stream || info.background || output.length > 0))
        notify(hooks, 'onError', turnApiError(error), info);
      notify(hooks, 'onResponse', {
        status,
        usage,
        ...upstreamInfo(upstream),
        durationMs: Date.now() - began,
        ...info,
      });
    }
  };
}

/** Reports to the host what model servers answered. */
export function upstreamInfo({ model, server, usage, cost }: UpstreamFacts): UpstreamInfo {
  return {
    ...(model === undefined ? {} : { upstreamModel: model }),
    ...(server === undefined ? {} : { server }),
    ...(usage === undefined ? {} : { upstreamUsage: usage }),
    ...(cost === undefined ? {} : { cost }),
  };
}

function droppedCallNote({ name, why }: Extract<TurnEvent, { type: 'call-dropped' }>): Note {
  if (why !== 'cut_off') return refusalNote(name, why);
  return { code: 'call_dropped', message: `The model called '${name}', which needs approval, and was cut off.` };
}

/** The original error behind a turn's error. */
export function turnApiError({ code, message, type, param, status, cause, server, advice }: TurnError): ApiError {
  return new ApiError(code ?? 'server_error', message, {
    type,
    param,
    cause,
    server,
    advice,
    ...(status === undefined ? {} : { status }),
  });
}

/** The types of items for which nothing has run here: what the model says, which tools there are, and calls, which have an output where this server ran them. */
const HARMLESS: ReadonlySet<unknown> = new Set([
  'message',
  'reasoning',
  'mcp_list_tools',
  'function_call',
  'custom_tool_call',
]);

/** Whether no tool has run for these items, so that nothing is done twice where their turn is made again. */
export function areHarmless(items: readonly unknown[]): boolean {
  return items.every((item) => isRecord(item) && HARMLESS.has(item.type));
}

/** What a turn with this output has failed with. Where a tool may have run, OpenAI's and Anthropic's clients are told not to send the request again by themselves. */
export function failedTurn(error: unknown, output: readonly OutputItem[]): unknown {
  if (!(error instanceof ApiError) || areHarmless(output)) return error;
  const { code, message, status, type, param, server, advice, cause, responseId } = error;
  const headers = { ...error.headers, 'x-should-retry': 'false' };
  return withResponse(new ApiError(code, message, { status, type, param, server, advice, cause, headers }), responseId);
}
