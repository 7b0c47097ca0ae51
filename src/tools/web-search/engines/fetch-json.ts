/** Asks the JSON API of a search engine, limited in time and size; errors name neither addresses nor keys. */

import type { RequestInit } from 'undici';
import { causeCodeOf } from '../../../ports/host/cause-code.ts';
import { limitedText } from '../../../ports/host/limited-text.ts';
import { objectIn } from '../../../protocol/json/json-text.ts';
import { undici } from '../../../protocol/json/packages.cjs';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';

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
  const both = AbortSignal.any([signal, timeout]);
  try {
    // Headers with keys must not follow a redirect.
    const response = await undici().fetch(url, { ...init, redirect: 'manual', signal: both });
    const text = response.ok ? await textOf(response.body) : undefined;
    if (text !== undefined) return answerIn(text);
    await response.body?.cancel();
    throw new EngineFault(`answered with the status ${response.status}`);
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(`The search engine ${engine} ${faultOf(error, timeout, timeoutMs)}.`);
  }
}

/** What is wrong with an answer, in words. */
class EngineFault extends Error {
  override readonly name = 'EngineFault';
}

/** Not the error's own message: it may have the address. */
function faultOf(error: unknown, timeout: AbortSignal, timeoutMs: number): string {
  if (error instanceof EngineFault) return error.message;
  if (timeout.aborted) return `did not answer within ${timeoutMs} ms`;
  const code = causeCodeOf(error);
  return code === undefined ? 'could not be reached' : `could not be reached (${code})`;
}

async function textOf(body: AsyncIterable<Uint8Array> | null): Promise<string> {
  const text = await limitedText(body, MAX_BYTES);
  if (text === undefined) throw new EngineFault(`answered with more than ${MAX_BYTES} bytes`);
  return text;
}

function answerIn(text: string): JsonObject {
  const value = objectIn(text);
  if (value) return value;
  throw new EngineFault('did not answer with a JSON object');
}

/** The objects of a list; empty for any other value. */
export function recordsIn(list: unknown): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
