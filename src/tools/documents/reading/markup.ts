/** Reads HTML and XML as a stream of tags and texts: no tree is built, and no entity that a document declares is expanded. */
import { optionalPeer } from '../../../ports/host/peer.ts';
import { DocumentError, unsupportedTypeError } from './document-job.ts';

const PACKAGE = 'htmlparser2';

/** Receives the tags and texts of a document, in document order. */
export interface MarkupHandler {
  /** Names of XML are without their prefix. */
  open(name: string, attributes: Readonly<Record<string, string>>): void;
  text(text: string): void;
  close(name: string): void;
}

/** The parser's work grows with the depth. */
const MAX_DEPTH = 5000;
const PIECE_LENGTH = 65_536;

/** Throws `invalid_file` for elements nested too deeply, and what the handler throws. */
export function readMarkup(markup: string | Uint8Array, xmlMode: boolean, handler: MarkupHandler): void {
  const library = optionalPeer<typeof import('htmlparser2')>(PACKAGE);
  if (!library) throw unsupportedTypeError(PACKAGE);
  const localName = (name: string) => (xmlMode ? name.slice(name.indexOf(':') + 1) : name);
  let depth = 0;
  const parser = new library.Parser(
    {
      onopentag(name, attributes) {
        depth += 1;
        if (depth > MAX_DEPTH) throw new DocumentError('invalid_file', 'has elements that are nested too deeply');
        handler.open(localName(name), attributes);
      },
      ontext: (text) => handler.text(text),
      onclosetag(name) {
        depth -= 1;
        handler.close(localName(name));
      },
    },
    { xmlMode },
  );
  for (const piece of decodedPieces(markup)) parser.write(piece);
  parser.end();
}

function* decodedPieces(markup: string | Uint8Array): Iterable<string> {
  if (typeof markup === 'string') {
    for (let at = 0; at < markup.length; at += PIECE_LENGTH) yield markup.slice(at, at + PIECE_LENGTH);
    return;
  }
  const isUtf16 = markup[0] === 0xff && markup[1] === 0xfe;
  const decoder = new TextDecoder(isUtf16 ? 'utf-16le' : 'utf-8');
  for (let at = 0; at < markup.length; at += PIECE_LENGTH)
    yield decoder.decode(markup.subarray(at, at + PIECE_LENGTH), { stream: true });
  yield decoder.decode();
}
