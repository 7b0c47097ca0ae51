/** The APIs of a host as they answer the lines of batches. */

import { ApiError } from '../../../protocol/errors.ts';
import type { Reply } from '../../../protocol/reply.ts';
import { bodyText } from '../../../streams/bytes.ts';
import type { EndpointFinder } from '../../endpoint/api.ts';
import type { LineApis, LineReply } from '../settings.ts';

/** The API that has the path answers. */
export function lineApis(endpointAt: EndpointFinder): LineApis {
  return {
    serves: (path) => endpointAt(path) !== undefined,
    async answer(request, maxBytes) {
      const { path } = request;
      const endpoint = endpointAt(path);
      if (endpoint) return wholeReply(await endpoint(request), maxBytes);
      throw new ApiError('not_found', `Invalid URL (POST ${path})`);
    },
  };
}

/** Throws `output_too_large` past so many bytes. */
async function wholeReply({ status, headers, body, bytes }: Reply, maxBytes: number): Promise<LineReply> {
  const pieces: Buffer[] = [];
  let length = 0;
  for await (const piece of bytes ?? (typeof body === 'string' ? [body] : body)) {
    const buffer = Buffer.from(piece);
    length += buffer.length;
    if (length > maxBytes) throw new ApiError('output_too_large', `The answer has more than ${maxBytes} bytes.`);
    pieces.push(buffer);
  }
  return { status, headers, body: bodyText(pieces) };
}
