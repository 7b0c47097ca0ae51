/** Reads content blocks of users and of tools' results as parts of messages. */

import type { Note } from '../../protocol/note.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../../protocol/record.ts';
import type { Block } from './request/schema.ts';

/** The parts of one block; none, with a note, for content that this server cannot read, such as files stored at Anthropic. */
export function userParts(block: Block, note: (note: Note) => void): readonly JsonObject[] {
  switch (block.type) {
    case 'text':
      return textParts(plainText(block.text));
    case 'image': {
      const url = sourceUrl(block.source);
      return url === undefined ? noteSkipped('image', note) : [{ type: 'input_image', image_url: url, detail: 'auto' }];
    }
    case 'document':
      return documentParts(block, note);
    case 'search_result':
      return textParts(searchResultText(block));
    case 'tool_reference':
      return textParts(`Tool: ${plainText(block.tool_name)}`);
    default:
      return noteSkipped(block.type, note);
  }
}

function textParts(text: string): readonly JsonObject[] {
  return text === '' ? [] : [{ type: 'input_text', text }];
}

function searchResultText({ title, source, content }: Block): string {
  const blocks = recordsIn(content);
  const texts = typeof content === 'string' ? [content] : blocks.map(({ text }) => plainText(text));
  return [plainText(title), plainText(source), ...texts].filter(Boolean).join('\n');
}

function documentParts({ source, title, context }: Block, note: (note: Note) => void): readonly JsonObject[] {
  const about = textParts([plainText(title), plainText(context)].filter(Boolean).join('\n'));
  const { type, data, content } = isRecord(source) ? source : {};
  if (type === 'text') return [...about, ...textParts(plainText(data))];
  if (type === 'content') {
    const blocks = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const inner = recordsIn(blocks);
    // The cast: each block's type is read, whatever it is.
    return [...about, ...inner.flatMap((each) => (each.type === 'document' ? [] : userParts(each as Block, note)))];
  }
  const url = sourceUrl(source);
  if (url === undefined) return noteSkipped('document', note);
  const file = type === 'url' ? { file_url: url } : { file_data: url };
  return [
    ...textParts(plainText(context)),
    { type: 'input_file', filename: plainText(title) || 'document.pdf', ...file },
  ];
}

/** A source's address, or its data as one. */
function sourceUrl(source: unknown): string | undefined {
  if (!isRecord(source)) return undefined;
  if (source.type === 'url') return plainText(source.url);
  return source.type === 'base64' ? `data:${source.media_type};base64,${plainText(source.data)}` : undefined;
}

function noteSkipped(type: string, note: (note: Note) => void): readonly JsonObject[] {
  note({ code: 'item_skipped', message: `A block of type '${type}' cannot be read here; it is left out.` });
  return [];
}
