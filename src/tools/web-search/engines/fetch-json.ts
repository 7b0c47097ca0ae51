/** Asks the JSON API of a search engine, limited in time and size; errors name neither addresses nor keys. */

import type { RequestInit } from 'undici';
import { readCauseCode } from '../../../ports/host/cause-code.ts';
import { limitedText } from '../../../ports/host/limited-text.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { undici } from '../../../protocol/json/packages.cjs';
import type { JsonObject } from '../../../protocol/record.ts';

/** One request to an engine. */
interface EngineRequest {
  /** The engine's name in errors. */
  readonly engine: string;
  readonly url: URL;
  readonly init?: RequestInit;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/** The largest answer of an engine, in bytes after decompression. */
export const MAX_BYTES = 4 * 1024 * 1024;

/** The answer, a JSON object. Rejects with an `Error` for the model, or with the signal's reason. */
export async function fetchJson({ engine, url, init, signal, timeoutMs }: EngineRequest): Promise<JsonObject> {
  const timeout = AbortSignal.timeout(timeoutMs);
  const eitherSignal = AbortSignal.any([signal, timeout]);
  try {
    // Headers with keys must not follow a redirect.
    const response = await undici().fetch(url, { ...init, redirect: 'manual', signal: eitherSignal });
    if (!response.ok) {
      await response.body?.cancel();
      throw new EngineFault(`answered with the status ${response.status}`);
    }
    const text = await limitedText(response.body, MAX_BYTES);
    if (text === undefined) throw new EngineFault(`answered with more than ${MAX_BYTES} bytes`);
    const answer = objectIn(text);
    if (!answer) throw new EngineFault('did not answer with a JSON object');
    return answer;
  } catch (error) {
    signal.throwIfAborted();
    // Not the error's own message: it may have the address.
    const code = readCauseCode(error);
    let fault = code === undefined ? 'could not be reached' : `could not be reached (${code})`;
    if (timeout.aborted) fault = `did not answer within ${timeoutMs} ms`;
    if (error instanceof EngineFault) fault = error.message;
    throw new Error(`The search engine ${engine} ${fault}.`);
  }
}

/** What is wrong with an answer, as the end of a sentence. */
class EngineFault extends Error {
  override readonly name = 'EngineFault';
}
