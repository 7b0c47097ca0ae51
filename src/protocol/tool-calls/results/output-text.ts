/** The result of a tool as text, for readers that accept only text. */

import type { ToolOutput } from '../../items.ts';
import type { JsonObject } from '../../record.ts';

const MAX_TYPE_LENGTH = 100;

/** Its texts; any other part is replaced by a description, such as `[image/png, 60 kB]`, so that its bytes are not taken for text. */
export function toolOutputText(output: ToolOutput): string {
  if (typeof output === 'string') return output;
  const texts = output.map((part: JsonObject) => {
    if (typeof part.text === 'string') return part.text;
    const data = part.image_url ?? part.file_data;
    if (typeof data !== 'string') return `[${part.type}]`;
    const end = data.slice(0, MAX_TYPE_LENGTH).indexOf(';base64,');
    if (!data.startsWith('data:') || end < 0) return `[${part.type}]`;
    const bytes = Buffer.byteLength(data.slice(end + ';base64,'.length), 'base64');
    return `[${data.slice('data:'.length, end)}, ${sizeText(bytes)}]`;
  });
  return texts.join('\n');
}

/** A number of bytes, such as `512 bytes` or `60 kB`. */
export function sizeText(bytes: number): string {
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
}
