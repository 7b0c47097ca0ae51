/** The uploaded files that a client wants in a container. */
import { containerFileName, nameNumberer } from '../../engine/tools/code-files.ts';
import { type FileStore, fromFiles, type StoredFile } from '../../ports/files/file-store.ts';
import { ApiError } from '../../protocol/errors.ts';
import { isObjectId, quoteId } from '../../protocol/ids.ts';
import { fileTooLarge } from '../endpoint/forms/multipart.ts';
import type { ContainersSettings } from './settings.ts';

/** An uploaded file, and its name in the container. */
interface UploadedFile {
  readonly name: string;
  readonly stored: StoredFile;
}

/** The files, all of which exist and fit. Throws `unsupported_parameter`, `file_not_found` and `file_too_large`. */
export async function uploadedFiles(
  ids: readonly string[],
  scope: string,
  { files, formLimits }: ContainersSettings,
  param: string,
): Promise<readonly UploadedFile[]> {
  if (ids.length === 0) return [];
  const store = requireFiles(files, param);
  const unusedName = nameNumberer();
  const found: UploadedFile[] = [];
  for (const [at, id] of [...new Set(ids)].entries()) {
    const stored = isObjectId('file', id) ? await fromFiles(() => store.get({ scope, id })) : undefined;
    const place = param === 'file_ids' ? `file_ids[${at}]` : param;
    if (!stored) throw new ApiError('file_not_found', `No such File object: ${quoteId(id)}.`, { param: place });
    if (stored.bytes > formLimits.fileBytes) throw fileTooLarge(formLimits);
    found.push({ name: unusedName(containerFileName(stored.filename)), stored });
  }
  return found;
}

/** The content of an uploaded file. Throws `file_not_found` if it is deleted meanwhile. */
export async function uploadedContent(
  { stored }: UploadedFile,
  { files }: ContainersSettings,
): Promise<AsyncIterable<Uint8Array>> {
  const store = requireFiles(files, 'file_id');
  const content = await fromFiles(() => store.read(stored));
  if (content) return content;
  throw new ApiError('file_not_found', `No such File object: ${quoteId(stored.id)}.`, { param: 'file_id' });
}

function requireFiles(files: FileStore | undefined, param: string): FileStore {
  if (files) return files;
  const message = 'This server keeps no uploaded files; upload the file to the container itself.';
  throw new ApiError('unsupported_parameter', message, { param });
}
