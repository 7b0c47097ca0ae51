/** What servers ask of their clients: of the user, or of a model. */
import type { JsonObject } from '../../../protocol/record.ts';
import { RpcCode, RpcError } from './faults.ts';

/** Answers one question, in the protocol's own form. */
export type Answer = (params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;

/** Who answers; a question that nobody answers is refused at once. */
export interface Questions {
  /** `elicitation/create`. */
  readonly elicit?: Answer | undefined;
  /** `sampling/createMessage`. */
  readonly sample?: Answer | undefined;
}

/** What a client tells servers that it can answer. */
export function capabilitiesOf({ elicit, sample }: Questions) {
  return { ...(elicit && { elicitation: { form: {}, url: {} } }), ...(sample && { sampling: {} }) };
}

/** Questions of one session that wait for their answers. */
const MOST_OPEN = 8;

/** The same, with a limit: a server may ask without end. */
export function bounded(questions: Questions): Questions {
  let open = 0;
  const limited = (answer: Answer | undefined): Answer | undefined =>
    answer &&
    (async (params, signal) => {
      if (open === MOST_OPEN) throw new RpcError(RpcCode.internalError, 'Too many questions are open.');
      open += 1;
      try {
        return await answer(params, signal);
      } finally {
        open -= 1;
      }
    });
  return { elicit: limited(questions.elicit), sample: limited(questions.sample) };
}
