/** Asks a service that judges texts, limited in size; errors name neither addresses, keys nor texts. */

import { readCauseCode } from '../../../ports/host/cause-code.ts';
import { limitedText } from '../../../ports/host/limited-text.ts';
import { asSecret, isHeaderValue, type OptionCheck } from '../../../ports/host/options-check.ts';
import { jsonIn } from '../../../protocol/json/json-text.ts';
import { undici } from '../../../protocol/json/packages.cjs';

/** One request. The signal ends it when the guard's time is up. */
interface ServiceRequest {
  /** The service's name in errors. */
  readonly service: string;
  readonly url: URL;
  readonly apiKey: string | undefined;
  readonly body: object;
  readonly signal: AbortSignal;
}

/** The largest answer, in bytes after decompression. */
const MAX_BYTES = 1024 * 1024;

/** A text that is not empty. */
export const isText: OptionCheck = (value) => (typeof value === 'string' && value !== '') || 'text';

/** At least one of them. */
export const isTexts: OptionCheck = (value) =>
  (Array.isArray(value) && value.length > 0 && value.every((each) => isText(each) === true)) || 'a list of texts';

/** An absolute `http` or `https` URL; it may contain a password. */
export const isServiceURL: OptionCheck = asSecret(
  (value) =>
    (typeof value === 'string' && URL.canParse(value) && /^https?:$/.test(new URL(value).protocol)) ||
    'an http or https URL',
);

/** A key that fits into a header. */
export const isServiceKey: OptionCheck = asSecret((value) => isHeaderValue(value) || 'a key that a header can carry');

/** The JSON value of the answer. Rejects with an `Error`, or with the signal's reason. */
export async function postJson({ service, url, apiKey, body, signal }: ServiceRequest): Promise<unknown> {
  const headers = { 'content-type': 'application/json', ...(apiKey ? { authorization: `Bearer ${apiKey}` } : {}) };
  try {
    // The text and the key must not follow a redirect.
    const request = { method: 'POST', headers, body: JSON.stringify(body), redirect: 'manual', signal } as const;
    const response = await undici().fetch(url, request);
    if (!response.ok) {
      await response.body?.cancel().catch(() => {});
      throw new ServiceFault(`answered with the status ${response.status}`);
    }
    const text = await limitedText(response.body, MAX_BYTES);
    if (text === undefined) throw new ServiceFault(`answered with more than ${MAX_BYTES} bytes`);
    const value = jsonIn(text);
    if (value === undefined) throw new ServiceFault('did not answer with JSON');
    return value;
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ServiceFault) throw new Error(`${service} ${error.message}.`);
    // Without the error's own message, which may contain the address.
    const code = readCauseCode(error);
    throw new Error(`${service} could not be reached${code === undefined ? '' : ` (${code})`}.`);
  }
}

/** What is wrong with an answer; the message follows the service's name. */
class ServiceFault extends Error {
  override readonly name = 'ServiceFault';
}
