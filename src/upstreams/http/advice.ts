/** What the host can do about a model server that cannot be reached or refuses its key. */
import type { UpstreamHeaders } from './server-options.ts';

/** The settings that decide where requests go and with which key. */
export interface AdviceSettings {
  readonly baseURL: URL;
  readonly apiKey?: string | undefined;
  readonly headers?: UpstreamHeaders;
  readonly forwardHeaders?: readonly string[];
  /** The beginning of the variables `<NAME>_BASE_URL` and `<NAME>_API_KEY`. Default: `OPENAI`. */
  readonly variables?: 'OPENAI' | 'ANTHROPIC';
}

const KEY_HEADER = /^(authorization|x-api-key|api-key)$/i;

/** Names whose key was refused, since a host may expect its clients' keys to be passed on. */
export function keyAdvice(settings: AdviceSettings): string {
  const { baseURL, apiKey, headers = {}, variables = 'OPENAI' } = settings;
  const option = `apiKey (or ${variables}_API_KEY, where baseURL is not set)`;
  const where = `to a key that ${baseURL.origin} accepts`;
  if (typeof headers === 'function')
    return `Check the key that your function headers returns for this client, or set ${option} ${where}.`;
  if (apiKey)
    return `Set ${option} ${where}: the one that is set is refused, and the client's own key is not forwarded.`;
  if (Object.keys(headers).some((name) => KEY_HEADER.test(name))) return `Set the key in the option headers ${where}.`;
  if (settings.forwardHeaders?.some((name) => KEY_HEADER.test(name)))
    return `The refused key is the client's own, which forwardHeaders passes on; set ${option} to use one of yours.`;
  return `Set ${option} ${where}: no key is sent now, and the client's own key is not forwarded.`;
}
