/** Keeps the upstream's key and address out of what a client is told. */
import { ApiError } from '../errors.ts';

const KEYS = /\b(?:sk|pk|gsk|xai)-[\w*.-]{4,}|\bBearer\s+\S+/gi;

/** Answers an `ApiError` as one that names neither key nor server; other errors pass. */
export function scrubber({
  baseURL,
  apiKey,
}: {
  baseURL: URL;
  apiKey: string | undefined;
}): (error: unknown) => unknown {
  const secrets = [apiKey, baseURL.href, baseURL.origin, baseURL.host].filter(
    (text) => text !== undefined && text !== '',
  );
  const clean = (text: string) =>
    secrets.reduce<string>((rest, secret) => rest.replaceAll(secret as string, '***'), text).replace(KEYS, '***');
  return (error) => {
    if (!(error instanceof ApiError)) return error;
    const { message, code, status, type, param, headers, cause } = error;
    const shown = { status, type: clean(type), param: param && clean(param), headers, cause };
    return new ApiError(clean(code), clean(message), shown);
  };
}
