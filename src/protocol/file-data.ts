/** The content of `file_data`, and the text of a file. */

/** A data URL, or base64 alone. */
export function decodeFileData(data: string): Buffer {
  const comma = data.indexOf(',');
  if (!data.startsWith('data:') || comma < 0) return Buffer.from(data, 'base64');
  const text = data.slice(comma + 1);
  if (/;base64$/i.test(data.slice(0, comma))) return Buffer.from(text, 'base64');
  return Buffer.from(percentDecoded(text));
}

/** The content of a data URL. */
interface DataURL {
  /** In lower case, such as `image/png`. */
  readonly mediaType: string;
  readonly base64: string;
}

/** The content of a data URL; undefined for any other text. Sliced by position: a regular expression over megabytes of base64 is slow. */
export function dataInURL(url: string): DataURL | undefined {
  const comma = url.startsWith('data:') ? url.indexOf(',') : -1;
  if (comma < 0) return undefined;
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const data = url.slice(comma + 1);
  const base64 = parameters.includes('base64') ? data : Buffer.from(percentDecoded(data)).toString('base64');
  return { mediaType: mediaType === '' ? 'text/plain' : mediaType.toLowerCase(), base64 };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** The text of the bytes, without its byte order mark; undefined if they are not UTF-8, or have a NUL, as no text has. */
export function decodeUtf8(bytes: Uint8Array): string | undefined {
  if (bytes.includes(0)) return undefined;
  try {
    return UTF8.decode(bytes);
  } catch {
    return undefined;
  }
}
