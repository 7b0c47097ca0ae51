/** The host's answers to questions of its servers. */

import { throttled } from '../../../ports/host/warner.ts';
import type { MaybePromise } from '../../../ports/store.ts';
import { isRecord, type JsonObject, thrownText } from '../../../protocol/record.ts';
import { untilAborted } from '../../../streams/until-aborted.ts';
import { RpcCode, RpcError } from '../shared/client/faults.ts';
import type { Answer, Questions } from '../shared/client/questions.ts';

/** A question of a server. */
export interface McpQuestion {
  /** The `server_label` of the server. */
  readonly server: string;
  /** Whose connection it is; undefined if all share it, so that nobody knows whose request the server works on. */
  readonly scope: string | undefined;
  /** The `params` of the question, as the protocol has them. */
  readonly params: JsonObject;
  /** Aborted when nobody waits for the answer any more. */
  readonly signal: AbortSignal;
}

/** The user's answer to `elicitation/create`. */
export interface ElicitAnswer {
  /** Whether the user has answered, has refused to, or has turned away. */
  readonly action: 'accept' | 'decline' | 'cancel';
  /** With `accept`: values for the properties of `params.requestedSchema`. */
  readonly content?: Readonly<Record<string, string | number | boolean | readonly string[]>>;
}

/** The functions of the host that answer. */
export interface HostAnswers {
  readonly onElicit?: ((question: McpQuestion) => MaybePromise<ElicitAnswer>) | undefined;
  readonly onSample?: ((question: McpQuestion) => MaybePromise<JsonObject>) | undefined;
}

/** The answers for one server's connection. */
export function questionsFor(
  about: Pick<McpQuestion, 'server' | 'scope'>,
  { onElicit, onSample }: HostAnswers,
  warn: (message: string) => void,
): Questions {
  const answer = (name: string, ask: HostAnswers['onSample'] | HostAnswers['onElicit']): Answer | undefined => {
    if (!ask) return undefined;
    const warnOfFailure = throttled((why) =>
      warn(`mcpTools: ${name} has no answer for server '${about.server}': ${why}`),
    );
    return async (params, signal) => {
      try {
        const reply = await untilAborted(signal, async () => ask({ ...about, params, signal }));
        if (isRecord(reply)) return reply;
        throw new TypeError('it must return an object');
      } catch (error) {
        // The host's own words are not the server's business.
        if (!signal.aborted) warnOfFailure(thrownText(error));
        throw new RpcError(RpcCode.internalError, 'There is no answer.');
      }
    };
  };
  return { elicit: answer('onElicit', onElicit), sample: answer('onSample', onSample) };
}
