/** The models of several servers as one list. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import type { JsonObject } from '../../protocol/record.ts';
import { untilAborted } from '../../streams/until-aborted.ts';
import type { Server } from './server.ts';

/** How long a server has to list its models, in milliseconds; one that is slower is left out. */
const LIST_MS = 5000;
/** Maximum length of the whole list. */
const MAX_MODELS = 10_000;

/** The list of one server; undefined if it is down. */
interface ServerModels {
  readonly server: Server;
  readonly models: readonly JsonObject[] | undefined;
}

/**
 * Asks all of them at once. Those that have names of their own for models are left out: clients do not know these.
 * Throws the error of a server if none answers, and the abort reason of the call.
 */
export async function modelLists(servers: readonly Server[], call: UpstreamCall): Promise<readonly ServerModels[]> {
  const known = servers.filter(({ renames }) => !renames);
  const answers = await Promise.allSettled(
    known.map(({ upstream }) => {
      const signal = AbortSignal.any([call.signal, AbortSignal.timeout(LIST_MS)]);
      return untilAborted(signal, async () => (await upstream.models?.({ ...call, signal, retries: 0 })) ?? []);
    }),
  );
  call.signal.throwIfAborted();
  const failed = answers.find((answer) => answer.status === 'rejected');
  if (failed && answers.every(({ status }) => status === 'rejected')) throw failed.reason;
  return known.map((server, index) => {
    const answer = answers[index];
    return { server, models: answer?.status === 'fulfilled' ? answer.value : undefined };
  });
}

/** The models of all lists, each id once, with the kind of their upstream as the owner of those that have none. */
export function mergeModelLists(lists: readonly ServerModels[]): readonly JsonObject[] {
  const found = new Map<string, JsonObject>();
  for (const { server, models = [] } of lists) {
    for (const model of models) {
      if (found.size === MAX_MODELS) return [...found.values()];
      if (typeof model.id === 'string' && !found.has(model.id))
        found.set(model.id, typeof model.owned_by === 'string' ? model : { ...model, owned_by: server.upstream.name });
    }
  }
  return [...found.values()];
}
