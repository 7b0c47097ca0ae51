/** The result of a tool as text, for readers that accept only text. */

import type { ToolOutput } from '../../items.ts';
import type { JsonObject } from '../../record.ts';

/** Its texts; any other part is replaced by a description. */
export function toolOutputText(output: ToolOutput): string {
  return typeof output === 'string' ? output : output.map(partText).join('\n');
}

/** Such as `[image/png, 60 kB]` for an image, so that its bytes are not taken for text. */
function partText(part: JsonObject): string {
  if (typeof part.text === 'string') return part.text;
  const data = part.image_url ?? part.file_data;
  return (typeof data === 'string' && describedData(data)) || `[${part.type}]`;
}

const LONGEST_TYPE = 100;

/** For a data URL in base64; undefined for any other. */
function describedData(url: string): string | undefined {
  const end = url.slice(0, LONGEST_TYPE).indexOf(';base64,');
  if (!url.startsWith('data:') || end < 0) return undefined;
  return `[${url.slice('data:'.length, end)}, ${sizeText(Buffer.byteLength(url.slice(end + ';base64,'.length), 'base64'))}]`;
}

/** A number of bytes, such as `512 bytes` or `60 kB`. */
export function sizeText(bytes: number): string {
  return bytes < 1000 ? `${bytes} bytes` : `${Math.round(bytes / 1000)} kB`;
}
