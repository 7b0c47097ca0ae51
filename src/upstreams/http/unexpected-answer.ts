/** Reports to the host, and to no client, that a server sent an unexpected answer. */

import { basePath } from './base-path.ts';

/** Number of characters of the answer that are shown. */
const MAX_SHOWN_LENGTH = 200;
/** Number of characters searched for secrets; half a secret cannot be found. */
const MAX_READ_LENGTH = 4096;

/** The start of the answer without secrets, and a guess at the error in `baseURL`. */
export function unexpectedAnswer(text: string, clean: (text: string) => string, baseURL: URL, cause?: unknown): Error {
  const began = clean(text.slice(0, MAX_READ_LENGTH)).slice(0, MAX_SHOWN_LENGTH);
  const came = began === '' ? 'It holds nothing.' : `It begins with: ${began}`;
  // Without a path the version is missing, and many servers return a web page there.
  const hint = basePath(baseURL) === '' ? " Does baseURL lack '/v1' at its end?" : '';
  return new Error(
    `The model server's answer is of another kind.${hint} ${came}`,
    cause === undefined ? {} : { cause },
  );
}
