/** Text and bytes: the realm's only `TextEncoder` and `TextDecoder`, because it may have none of Node's. */

const REPLACEMENT = 0xfffd;
const CHUNK = 8192;

/** UTF-8; a lone surrogate becomes U+FFFD. */
export function encodeUtf8(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length * 3);
  let length = 0;
  for (let index = 0; index < text.length; index += 1) {
    let point = text.codePointAt(index) ?? 0;
    if (point > 0xffff) index += 1;
    if (point >= 0xd800 && point < 0xe000) point = REPLACEMENT;
    const more = point < 0x80 ? 0 : point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    bytes[length] = more === 0 ? point : ((0xff00 >> (more + 1)) & 0xff) | (point >> (6 * more));
    for (let left = more; left > 0; left -= 1)
      bytes[length + 1 + more - left] = 0x80 | ((point >> (6 * (left - 1))) & 0x3f);
    length += more + 1;
  }
  return bytes.slice(0, length);
}

/** The bytes in a string of one character each. */
export function latin1Bytes(text: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(text.length);
  for (let index = 0; index < text.length; index += 1) bytes[index] = text.charCodeAt(index);
  return bytes;
}

/** Decodes UTF-8 as browsers do; undefined if `fatal` is set and the bytes are not UTF-8. A leading byte order mark stays. */
function decodeUtf8(bytes: Uint8Array, fatal: boolean): string | undefined {
  const codes: number[] = [];
  let text = '';
  let at = 0;
  while (at < bytes.length) {
    const [point, length] = decodePoint(bytes, at);
    if (point === undefined && fatal) return undefined;
    at += length;
    codes.push(point ?? REPLACEMENT);
    if (codes.length === CHUNK) text += String.fromCodePoint(...codes.splice(0));
  }
  return text + String.fromCodePoint(...codes);
}

/** The character at this position and its length; for invalid bytes no character and their length. */
function decodePoint(bytes: Uint8Array, at: number): readonly [point: number | undefined, length: number] {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return [first, 1];
  const more =
    first >= 0xc2 && first < 0xe0 ? 1 : first >= 0xe0 && first < 0xf0 ? 2 : first >= 0xf0 && first < 0xf5 ? 3 : 0;
  if (more === 0) return [undefined, 1];
  let point = first & (0x3f >> more);
  for (let index = 1; index <= more; index += 1) {
    const next = bytes[at + index] ?? 0;
    // The second byte tells overlong forms, surrogates, and code points above U+10FFFF.
    const min = index > 1 ? 0x80 : first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
    const max = index > 1 ? 0xbf : first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
    if (next < min || next > max) return [undefined, index];
    point = (point << 6) | (next & 0x3f);
  }
  return [point, more + 1];
}

function decodeCodes(codes: Uint8Array | Uint16Array): string {
  let text = '';
  for (let at = 0; at < codes.length; at += CHUNK) text += String.fromCharCode(...codes.subarray(at, at + CHUNK));
  return text;
}

/** Pairs of bytes, the lower first; drops a last odd byte. */
function decodeUtf16(bytes: Uint8Array): string {
  const codes = new Uint16Array(bytes.length >> 1);
  for (let index = 0; index < codes.length; index += 1)
    codes[index] = (bytes[2 * index] ?? 0) | ((bytes[2 * index + 1] ?? 0) << 8);
  return decodeCodes(codes);
}

type Decode = (bytes: Uint8Array, fatal: boolean) => string | undefined;

/** The encodings that Pyodide uses. */
const DECODERS: ReadonlyMap<string, Decode> = new Map<string, Decode>([
  ['utf-8', decodeUtf8],
  ['utf8', decodeUtf8],
  ['utf-16le', decodeUtf16],
  ['latin1', decodeCodes],
  ['iso-8859-1', decodeCodes],
  ['ascii', decodeCodes],
]);

/** The realm's part of the web's class. */
export class TextDecoder {
  readonly #encoding: string;
  readonly #decode: Decode;
  readonly #fatal: boolean;
  readonly #keepMark: boolean;

  constructor(encoding = 'utf-8', { fatal = false, ignoreBOM = false } = {}) {
    const decode = DECODERS.get(`${encoding}`.toLowerCase());
    if (!decode) throw new RangeError(`There is no encoding '${encoding}' here.`);
    this.#encoding = `${encoding}`;
    this.#decode = decode;
    this.#fatal = fatal;
    this.#keepMark = ignoreBOM;
  }

  decode(source: ArrayBufferView | ArrayBuffer = new Uint8Array()): string {
    const bytes = ArrayBuffer.isView(source)
      ? new Uint8Array(source.buffer, source.byteOffset, source.byteLength)
      : new Uint8Array(source);
    const text = this.#decode(bytes, this.#fatal);
    if (text === undefined) throw new TypeError(`The bytes are not ${this.#encoding}.`);
    return text.startsWith('\ufeff') && !this.#keepMark ? text.slice(1) : text;
  }
}

/** The realm's part of the web's class. */
export class TextEncoder {
  encode(text = ''): Uint8Array {
    return encodeUtf8(`${text}`);
  }
}
