/** Reads the files of a request and its history, so that the model receives their content. */
import { guardItems } from '../../../engine/guarding/request/guarded-body.ts';
import { containerPlace } from '../../../engine/tools/toolset.ts';
import { filesOfContainer } from '../../../engine/uploads/container-files.ts';
import { InlineTexts, isDocumentPart } from '../../../engine/uploads/inline-text.ts';
import { filePart, uploadIdInPart, withContent } from '../../../engine/uploads/upload-parts.ts';
import { UploadReader } from '../../../engine/uploads/upload-reader.ts';
import { readFileUrl, UrlReader } from '../../../engine/uploads/url-reader.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { quoteId } from '../../../protocol/ids.ts';
import type { Item } from '../../../protocol/items.ts';
import type { Note } from '../../../protocol/note.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { itemType } from '../../../protocol/responses/item-type.ts';
import { partFields } from '../../../protocol/responses/schema.ts';
import { noteReporter, type PrepareSettings } from '../../endpoint/prepare.ts';
import type { RequestWithTools } from './request.ts';

/**
 * Replaces the parts in the conversation and in the window, if the host has anything that reads files; `input` keeps the ids, so that the store keeps no content. A
 * file of an earlier turn that is gone is named as such. Throws `file_not_found` for one that the request itself names.
 */
export async function readUploads(request: RequestWithTools, settings: PrepareSettings): Promise<RequestWithTools> {
  const { files, documents, fileFetcher, limits } = settings;
  const { apiRequest, conversation, window, toolset, brought, guards } = request;
  const runsCode = containerPlace(toolset) !== undefined;
  const reader = files && new UploadReader(files, apiRequest, limits);
  // Code reads files; a model alone reads text.
  const texts = runsCode ? undefined : new InlineTexts(documents, apiRequest, limits);
  const urls = fileFetcher && new UrlReader(fileFetcher, apiRequest, limits);
  const isReadable = (part: unknown) =>
    (urls && readFileUrl(part) !== undefined) ||
    (reader && uploadIdInPart(part) !== undefined) ||
    (texts && documents && isDocumentPart(part)) ||
    false;
  const content = new PartContents(
    { reader, texts, urls },
    isReadable,
    request.input,
    noteReporter(apiRequest, settings),
  );
  const added = runsCode && reader ? await filesOfContainer(brought, reader) : [];
  const read = await content.read(runsCode ? [...conversation, ...window.items] : window.items);
  const changed = guards ? await guardItems(read, guards) : read;
  if (changed.size === 0 && added.length === 0) return request;

  const withContent = (items: readonly Item[]): readonly Item[] => {
    const whole = items.map((item) => changed.get(item) ?? item);
    if (added.length === 0) return whole;
    // Behind the host's rules, which some models expect first.
    const isRule = ({ type, role }: Item) => type === 'message' && (role === 'system' || role === 'developer');
    const first = whole.findIndex((item) => !isRule(item));
    return first < 0 ? [...whole, ...added] : [...whole.slice(0, first), ...added, ...whole.slice(first)];
  };
  return Object.assign({}, request, {
    conversation: withContent(conversation),
    window: { ...window, items: withContent(window.items) },
  });
}

/** Where the content of parts is found; undefined where the host has none. */
interface Sources {
  readonly reader: UploadReader | undefined;
  readonly texts: InlineTexts | undefined;
  readonly urls: UrlReader | undefined;
}

/** The contents that take the place of the parts of one request. */
class PartContents {
  private readonly sources: Sources;
  private readonly isReadable: (part: unknown) => boolean;
  private readonly input: readonly Item[];
  private readonly note: (note: Note) => void;

  constructor(
    sources: Sources,
    isReadable: (part: unknown) => boolean,
    input: readonly Item[],
    note: (note: Note) => void,
  ) {
    this.sources = sources;
    this.isReadable = isReadable;
    this.input = input;
    this.note = note;
  }

  /** Each item that has a file, with what takes its place. */
  async read(items: readonly Item[]): Promise<ReadonlyMap<Item, Item>> {
    const indices = new Map(this.input.map((item, index) => [item, index]));
    const changed = new Map<Item, Item>();
    for (const item of items) {
      const field = partFields[itemType(item)]?.field;
      const parts = field === undefined ? undefined : item[field];
      if (changed.has(item) || field === undefined || !Array.isArray(parts)) continue;
      if (!parts.some(this.isReadable)) continue;
      const index = indices.get(item);
      const path = index === undefined ? undefined : `input[${index}].${field}`;
      changed.set(item, { ...item, [field]: await this.readParts(parts, path) });
    }
    return changed;
  }

  /** `path` is undefined for an earlier turn's. */
  private async readParts(parts: readonly unknown[], path: string | undefined): Promise<readonly unknown[]> {
    const whole: unknown[] = [];
    for (const [index, part] of parts.entries())
      whole.push(
        isRecord(part) && this.isReadable(part) ? await this.readPart(part, path && `${path}[${index}]`) : part,
      );
    return whole;
  }

  private async readPart(part: JsonObject, path: string | undefined): Promise<JsonObject> {
    const { reader, texts, urls } = this.sources;
    const url = urls ? readFileUrl(part) : undefined;
    const id = uploadIdInPart(part);
    const named = id === undefined ? 'file_data' : 'file_id';
    const param = path === undefined ? 'input' : `${path}.${url === undefined ? named : 'file_url'}`;
    try {
      if (urls && url !== undefined) {
        const file = await urls.get(url, param);
        return textPart(await texts?.of(file, param)) ?? filePart(file, part.filename);
      }
      if (id === undefined || !reader) return textPart(await texts?.ofPart(part, param)) ?? part;
      const upload = await (path === undefined ? reader.find(id, param) : reader.get(id, param));
      if (!upload) return this.placeholder(`The file ${quoteId(id)} of an earlier turn is not there any more.`, GONE);
      const text = part.type === 'input_file' ? await texts?.of(upload, param) : undefined;
      return textPart(text) ?? withContent(part, upload, param);
    } catch (error) {
      // The conversation goes on without what was readable once.
      if (path !== undefined || !(error instanceof ApiError) || !UNREADABLE.has(error.code)) throw error;
      return this.placeholder(error.message, `[${error.message}]`);
    }
  }

  private placeholder(message: string, text: string): JsonObject {
    this.note({ code: 'reference_skipped', message });
    return { type: 'input_text', text };
  }
}

const GONE = '[A file that is not there any more.]';
const UNREADABLE: ReadonlySet<string> = new Set(['invalid_file', 'file_too_large']);

function textPart(text: string | undefined): JsonObject | undefined {
  return text === undefined ? undefined : { type: 'input_text', text };
}
