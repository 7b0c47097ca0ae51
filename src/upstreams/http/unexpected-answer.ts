/** What the host is told where a server answered something else than it was asked for; no client is. */

import { basePath } from './base-path.ts';

/** Characters of the answer that are shown. */
const SHOWN = 200;
/** Characters that are looked through for secrets: half a secret is none that could be found. */
const READ = 4096;

/** Its beginning without secrets, and a guess where `baseURL` may be wrong. */
export function unexpectedAnswer(text: string, clean: (text: string) => string, baseURL: URL, cause?: unknown): Error {
  const began = clean(text.slice(0, READ)).slice(0, SHOWN);
  const came = began === '' ? 'It holds nothing.' : `It begins with: ${began}`;
  // Without a path there is no version in it either, and many servers answer a page there.
  const hint = basePath(baseURL) === '' ? " Does baseURL lack '/v1' at its end?" : '';
  return new Error(
    `The model server's answer is of another kind.${hint} ${came}`,
    cause === undefined ? {} : { cause },
  );
}
