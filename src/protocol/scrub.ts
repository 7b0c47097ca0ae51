/** Keeps the upstream's key and address out of what a client is told. */
import { ApiError } from './errors.ts';

const KEYS = /\b(?:(?:sk|pk|xai)-|gsk_|hf_|AIza)[\w*.-]{3,}[\w*]|\bBearer\s+\S+/g;
/** A configured key that is shorter is a placeholder, such as `EMPTY`, and may be any word of a message. */
const SHORTEST_KEY = 8;

/** Answers an `ApiError` as one that names neither key nor server; other errors pass. */
export function scrubber({
  baseURL,
  apiKey,
}: {
  baseURL: URL;
  apiKey: string | undefined;
}): (error: unknown) => unknown {
  const key = apiKey && apiKey.length >= SHORTEST_KEY ? apiKey : undefined;
  const secrets = [key, baseURL.href, baseURL.origin, baseURL.host].filter((text) => text !== undefined && text !== '');
  const clean = (text: string) =>
    secrets.reduce<string>((rest, secret) => rest.replaceAll(secret as string, '***'), text).replace(KEYS, '***');
  return (error) => {
    if (!(error instanceof ApiError)) return error;
    const { message, code, status, type, param, headers, cause } = error;
    const shown = { status, type: clean(type), param: param && clean(param), headers, cause };
    return new ApiError(clean(code), clean(message), shown);
  };
}
