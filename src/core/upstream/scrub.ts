/** Keeps the upstream's key and address out of what a client is told. */
import { ApiError } from '../errors.ts';

const KEYS = /\b(?:sk|pk|gsk|xai)-[\w*.-]{4,}|\bBearer\s+\S+/gi;

/** Answers an `ApiError` as it is, or as one whose message names neither key nor server; other errors pass. */
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
  return (error) => {
    if (!(error instanceof ApiError)) return error;
    const message = secrets.reduce<string>((text, secret) => text.replaceAll(secret as string, '***'), error.message);
    const clean = message.replace(KEYS, '***');
    if (clean === error.message) return error;
    const { code, status, type, param, headers, cause } = error;
    return new ApiError(code, clean, { status, type, param, headers, cause });
  };
}
