/** The model's names for tools: with the characters and the length that model servers accept. */
import { createHash } from 'node:crypto';

const MAX_NAME = 64;
const HASH = 10;

/** The model's name for the tool that runs its code, and the type by which requests enable it. */
export const CODE_INTERPRETER = 'code_interpreter';

/** The model's name for the tool that makes its images, and the type by which requests enable it. */
export const IMAGE_GENERATION = 'image_generation';

/** The model's name for the search for deferred tools, and the type by which requests may enable it. */
export const TOOL_SEARCH = 'tool_search';

/** The model's name for searching the web, the label of both tools for it, and the type by which requests enable them. */
export const WEB_SEARCH = 'web_search';

/** The model's name for reading a page. */
export const OPEN_PAGE = 'open_page';

/** The model's name for searching the client's files, and the type by which requests enable it. */
export const FILE_SEARCH = 'file_search';

/** Older and dated names of types of tools. */
const SAME_TYPE: ReadonlyMap<unknown, string> = new Map([
  ['web_search_2025_08_26', WEB_SEARCH],
  ['web_search_preview', WEB_SEARCH],
  ['web_search_preview_2025_03_11', WEB_SEARCH],
]);

/** The type of a tool as `requestedBy` names it: some types have several names in requests. */
export function requestedType(type: unknown): unknown {
  return SAME_TYPE.get(type) ?? type;
}

/** The name as servers accept it; a changed name stays distinct by a digest. */
export function modelSafe(name: string): string {
  const plain = name.replace(/[^\w-]/g, '_');
  return plain.length > MAX_NAME ? shortened(plain, name) : plain;
}

/** The name cut to leave room for a digest of `whole`. */
export function shortened(name: string, whole: string): string {
  const digest = createHash('sha1').update(whole).digest('hex').slice(0, HASH);
  return `${name.slice(0, MAX_NAME - HASH - 1)}_${digest}`;
}

/** A tool of a client's namespace; models have no namespaces. */
export function namespacedName(namespace: string, name: string): string {
  return modelSafe(`${namespace}__${name}`);
}
