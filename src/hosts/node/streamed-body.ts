/** A body that is not JSON, such as a form, which goes on as it arrives. */
import { Readable } from 'node:stream';
import { bodyErrors } from '../../server/requests/json-body.ts';
import type { NodeRequest } from './node-request.ts';

/** How much of a form is looked through for the model that it names. */
const MAX_FORM_HEAD = 64 * 1024;
const FIRST_FORM_HEAD = 256;
/** Pieces that are put together: a client may send byte after byte, and each is an object. */
const MAX_HEAD_PIECES = 256;

/** The model that stands at the beginning of a form, empty if none does, and the whole body. Rejects if the client leaves before. */
export async function readBodyHead(
  req: NodeRequest,
  type: string,
): Promise<{ readonly model: string; readonly content: Readable }> {
  const source: AsyncIterator<Buffer> = req.iterator({ destroyOnReturn: false })[Symbol.asyncIterator]();
  const head: Buffer[] = [];
  let length = 0;
  let model: string | undefined;
  // Looked for in twice as much each time: a client may send byte after byte.
  let enough = FIRST_FORM_HEAD;
  let isOver = !/^multipart\/form-data/i.test(type);
  while (!isOver && length < MAX_FORM_HEAD && model === undefined) {
    const { value, done } = await source.next();
    isOver = done === true;
    if (!isOver) {
      head.push(value);
      length += value.length;
      if (head.length === MAX_HEAD_PIECES) head.splice(0, head.length, Buffer.concat(head));
      if (length < enough) continue;
      enough = 2 * length;
    }
    model = /name="model"\r\n(?:[\w-]+:[^\r\n]{0,200}\r\n){0,4}\r\n([^\r\n]{1,200})\r\n/.exec(
      Buffer.concat(head).subarray(0, MAX_FORM_HEAD).toString('latin1'),
    )?.[1];
  }
  await source.return?.();
  return { model: model ?? '', content: wholeBody(req, head) };
}

/** The head that has been read, and what follows. Whoever destroys it leaves the request open, whose client waits for an answer. */
function wholeBody(req: NodeRequest, head: readonly Buffer[]): Readable {
  const leave = () => void req.off('data', add).off('end', finish).off('error', fail).off('close', fail);
  const body = new Readable({
    read: () => void req.resume(),
    destroy(error, done) {
      leave();
      req.pause();
      done(error);
    },
  });
  const add = (piece: Buffer) => {
    if (!body.push(piece)) req.pause();
  };
  const finish = () => {
    leave();
    body.push(null);
  };
  const fail = (cause?: unknown) => void body.destroy(bodyErrors.aborted(cause));
  // The client may leave before anybody reads.
  body.on('error', () => {});
  for (const piece of head) body.push(piece);
  if (req.readableEnded) finish();
  else if (req.destroyed) fail(req.errored);
  else req.on('data', add).on('end', finish).on('error', fail).on('close', fail);
  return body;
}
