/** Reads an answer that a server, or a proxy in front of it, has compressed although nobody asked for it. */
import { ApiError } from '../../../protocol/errors.ts';
import { type Bytes, streamBytes } from '../../../streams/bytes.ts';
import { DECODERS, type Decoder } from '../../../streams/decoders.ts';
import type { Answered } from './dispatch.ts';

/** The answer with its own bytes. Throws `upstream_error` for a coding that is not known. */
export function decompressed(answer: Answered): Answered {
  const coding = String(answer.headers['content-encoding']).trim().toLowerCase();
  if (coding === 'identity' || coding === '') return answer;
  const create = DECODERS.get(coding);
  if (!create) {
    answer.body.close();
    const cause = new Error(
      `The model server's answer has the content-encoding '${coding}', which cannot be read here.`,
    );
    throw new ApiError('upstream_error', 'The model server compressed its answer.', { cause });
  }
  const { status, body } = answer;
  // They describe the bytes that came, not those that are handed on.
  const { 'content-encoding': _, 'content-length': __, ...headers } = answer.headers;
  return { status, headers, body: decodedBytes(body, create()) };
}

/** Reads only as fast as the text is read: a little of it may be much text. */
function decodedBytes(body: Bytes, decoder: Decoder): Bytes {
  const text = streamBytes(decoder);
  decoder.on('drain', () => body.resume());
  return {
    readBy(reader) {
      text.readBy(reader);
      body.readBy({
        bytes(chunk) {
          // undici may use its memory again.
          if (!decoder.destroyed && !decoder.write(Buffer.from(chunk))) body.pause();
        },
        ended: () => void decoder.end(),
        // The cast: what breaks a connection is an error.
        failed: (error) => void decoder.destroy(error as Error),
      });
    },
    pause: () => text.pause(),
    resume: () => text.resume(),
    close() {
      body.close();
      decoder.on('error', () => {});
      decoder.destroy();
    },
  };
}
