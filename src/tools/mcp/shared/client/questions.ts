/** What servers ask of their clients: of the user, or of a model. */
import type { JsonObject } from '../../../../protocol/record.ts';
import { untilAborted } from '../../../../streams/until-aborted.ts';
import { RpcCode, RpcError } from './faults.ts';

/** Answers one question, in the protocol's own form. */
export type Answer = (params: JsonObject, signal: AbortSignal) => Promise<JsonObject>;

/** The functions that answer; a question without one is refused at once. */
export interface Questions {
  /** `elicitation/create`. */
  readonly elicit?: Answer | undefined;
  /** `sampling/createMessage`. */
  readonly sample?: Answer | undefined;
}

/** The capabilities that a client announces to servers. */
export function clientCapabilities({ elicit, sample }: Questions) {
  return { ...(elicit && { elicitation: { form: {}, url: {} } }), ...(sample && { sampling: {} }) };
}

/**
 * The answer, for an SDK that checks it; a failure becomes the SDK's own error, which is sent to the server.
 */
export async function toSdkAnswer<Result>(
  answer: Promise<JsonObject>,
  SdkError: new (code: number, message: string) => Error,
): Promise<Result> {
  try {
    // The cast: the SDK checks what the host has answered.
    return (await answer) as Result;
  } catch (error) {
    const { code, message } = error instanceof RpcError ? error : NO_ANSWER;
    throw new SdkError(code, message);
  }
}

const NO_ANSWER = new RpcError(RpcCode.internalError, 'There is no answer.');

/** Questions of one session that wait for their answers, at most. */
const MAX_OPEN = 8;
/** How long one of them may wait, in milliseconds. */
const MAX_QUESTION_MS = 600_000;

/** The questions of one session: bounded in number and in time, because a server may ask without end, or forget that it asked. */
export class OpenQuestions {
  /** The same answers, bounded. */
  readonly bounded: Questions;
  private readonly open = new Set<AbortController>();

  constructor({ elicit, sample }: Questions) {
    this.bounded = { elicit: elicit && this.boundedAnswer(elicit), sample: sample && this.boundedAnswer(sample) };
  }

  /** Nobody waits for the answers. */
  abortAll(): void {
    for (const question of this.open) question.abort(new Error('Nobody waits for the answer.'));
  }

  private boundedAnswer(answer: Answer): Answer {
    return async (params, signal) => {
      if (this.open.size === MAX_OPEN) throw new RpcError(RpcCode.internalError, 'Too many questions are open.');
      const question = new AbortController();
      const abort = () => question.abort(signal.reason);
      const timer = setTimeout(() => question.abort(new Error('It took too long.')), MAX_QUESTION_MS).unref();
      signal.addEventListener('abort', abort, { once: true });
      this.open.add(question);
      try {
        return await untilAborted(question.signal, () => answer(params, question.signal));
      } finally {
        clearTimeout(timer);
        signal.removeEventListener('abort', abort);
        this.open.delete(question);
      }
    };
  }
}
