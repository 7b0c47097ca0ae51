/** Determines where the code of a request runs, before its turn begins. */

import { fromStore, type MaybePromise, type ResponseStore } from '../../ports/store.ts';
import type { Workspace } from '../../ports/tool-provider.ts';
import type { Toolset } from '../../ports/toolset.ts';
import { ApiError } from '../../protocol/errors.ts';
import { containerId, quoteId, responseIdOfContainer } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import { isRecord, type JsonObject } from '../../protocol/record.ts';
import { CODE_INTERPRETER } from '../../protocol/tool-calls/code-interpreter-call.ts';
import { codeFiles } from './code-files.ts';
import { namesServing } from './toolset.ts';

/** The parts of a request that concern its code. */
interface WorkspaceCase {
  readonly toolset: Toolset;
  /** The request's tools. */
  readonly tools: readonly JsonObject[];
  /** The whole conversation so far, oldest first. */
  readonly conversation: readonly Item[];
  /** The source of a new container's id: the seed of the response, so that the id leads to it. */
  readonly seed: string;
  readonly scope: string;
  /** Whether the tool may name uploaded files: the conversation then holds them. */
  readonly hasUploads: boolean;
}

/**
 * The workspace; undefined if no code is run. The container that the request names, else that of the conversation's
 * last code, else a new one. Throws `container_not_found` for one that neither the conversation nor a stored response
 * contains, and that no client has made, `container_expired`, and `unsupported_parameter` for uploaded files where there are none.
 */
export function findWorkspace(request: WorkspaceCase, store: ResponseStore): MaybePromise<Workspace | undefined> {
  const tool = request.tools.find(({ type }) => type === CODE_INTERPRETER);
  const runsCode = tool && namesServing(request.toolset, CODE_INTERPRETER).length > 0;
  return runsCode ? buildWorkspace(tool, request, store) : undefined;
}

async function buildWorkspace(tool: JsonObject, request: WorkspaceCase, store: ResponseStore): Promise<Workspace> {
  const { conversation, seed, hasUploads } = request;
  const { container } = tool;
  const ids = isRecord(container) ? container.file_ids : undefined;
  if (!hasUploads && Array.isArray(ids) && ids.length > 0) {
    const message = 'Uploaded files are not supported here; send the files as input_file parts with file_data.';
    throw new ApiError('unsupported_parameter', message, { param: 'tools' });
  }
  // A tool that names no container leaves the choice to the server.
  const named = typeof container === 'string' ? await findContainer(container, request, store) : undefined;
  const known = containersIn(conversation);
  const used = named ? (named.isUsed ? named.id : undefined) : known.at(-1);
  let files: ReturnType<Workspace['files']> | undefined;
  return {
    container: named?.id ?? used ?? containerId(seed),
    used: used !== undefined,
    files: () => {
      files ??= codeFiles(conversation);
      return files;
    },
  };
}

/** Other servers' containers too: their ids stay, and their content starts empty here. */
function containersIn(conversation: readonly Item[]): readonly string[] {
  return conversation.flatMap(({ type, container_id: id }) =>
    type === 'code_interpreter_call' && typeof id === 'string' && CONTAINER_ID.test(id) ? [id] : [],
  );
}

const CONTAINER_ID = /^cntr_[\w-]{1,64}$/;

async function findContainer(
  id: string,
  { conversation, scope, toolset }: WorkspaceCase,
  store: ResponseStore,
): Promise<{ readonly id: string; readonly isUsed: boolean }> {
  const [name = ''] = namesServing(toolset, CODE_INTERPRETER);
  const provider = toolset.get(name)?.provider;
  const isThere = CONTAINER_ID.test(id) && (await provider?.hasContainer?.({ scope, id }));
  if (containersIn(conversation).includes(id)) return { id, isUsed: true };
  const responseId = responseIdOfContainer(id);
  const response = responseId && (await fromStore(() => store.get({ scope, id: responseId })));
  if (response || isThere) return { id, isUsed: response !== undefined && response !== '' };
  throw new ApiError('container_not_found', `Container with id ${quoteId(id)} not found.`, { param: 'tools' });
}
