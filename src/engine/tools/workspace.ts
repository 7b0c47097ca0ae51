/** Determines where the code of a request runs, before its turn begins. */

import { fromStore, type MaybePromise, type ResponseStore } from '../../ports/store.ts';
import type { Workspace } from '../../ports/tool-provider.ts';
import type { Toolset } from '../../ports/toolset.ts';
import { ApiError } from '../../protocol/errors.ts';
import { containerId, quoteId, responseIdOfContainer } from '../../protocol/ids.ts';
import type { Item } from '../../protocol/items.ts';
import type { JsonObject } from '../../protocol/record.ts';
import type { WrittenToolCallKind } from '../../protocol/tool-calls/kind.ts';
import { servedType } from '../../protocol/tool-calls/kinds.ts';
import { codeFiles } from './code-files.ts';
import { kindsInContainers, namesServing } from './toolset.ts';

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

/** The workspaces of a request, by the type of the tool that runs there. */
export type Workspaces = ReadonlyMap<unknown, Workspace>;

/** Those of most requests. */
const NONE: Workspaces = new Map();

/**
 * The workspaces; none if nothing runs in a container. The container that the request names, else that of the conversation's
 * last call of the tool, else a new one, which all tools of the request share. Throws `container_not_found` for one that neither the conversation nor a stored response
 * contains, and that no client has made, `container_expired`, and `unsupported_parameter` for uploaded files where there are none.
 */
export function findWorkspaces(request: WorkspaceCase, store: ResponseStore): MaybePromise<Workspaces> {
  const kinds = kindsInContainers(request.toolset);
  return kinds.length === 0 ? NONE : buildWorkspaces(kinds, request, store);
}

async function buildWorkspaces(
  kinds: readonly WrittenToolCallKind[],
  request: WorkspaceCase,
  store: ResponseStore,
): Promise<Workspaces> {
  let files: ReturnType<Workspace['files']> | undefined;
  const readFiles = () => {
    files ??= codeFiles(request.conversation);
    return files;
  };
  const workspaces = new Map<unknown, Workspace>();
  for (const kind of kinds) {
    const tool = request.tools.find((each) => servedType(each) === kind.tool);
    if (tool) workspaces.set(kind.tool, { ...(await findPlace(kind, tool, request, store)), files: readFiles });
  }
  return workspaces;
}

async function findPlace(
  kind: WrittenToolCallKind,
  tool: JsonObject,
  request: WorkspaceCase,
  store: ResponseStore,
): Promise<Pick<Workspace, 'container' | 'used'>> {
  const { conversation, seed, hasUploads } = request;
  const ids = kind.container?.fileIdsIn(tool);
  if (!hasUploads && Array.isArray(ids) && ids.length > 0) {
    const message = 'Uploaded files are not supported here; send the files as input_file parts with file_data.';
    throw new ApiError('unsupported_parameter', message, { param: 'tools' });
  }
  // A tool that names no container leaves the choice to the server.
  const wanted = kind.container?.idIn(tool);
  const named = wanted === undefined ? undefined : await findContainer(wanted, kind, request, store);
  const used = named ? (named.isUsed ? named.id : undefined) : containersIn(conversation, kind).at(-1);
  return { container: named?.id ?? used ?? containerId(seed), used: used !== undefined };
}

/** Other servers' containers too: their ids stay, and their content starts empty here. */
function containersIn(conversation: readonly Item[], { type, container }: WrittenToolCallKind): readonly string[] {
  return conversation.flatMap((item) => {
    const id = item.type === type ? container?.containerOf(item) : undefined;
    return typeof id === 'string' && CONTAINER_ID.test(id) ? [id] : [];
  });
}

const CONTAINER_ID = /^cntr_[\w-]{1,64}$/;

async function findContainer(
  id: string,
  kind: WrittenToolCallKind,
  { conversation, scope, toolset }: WorkspaceCase,
  store: ResponseStore,
): Promise<{ readonly id: string; readonly isUsed: boolean }> {
  const [name = ''] = namesServing(toolset, kind.tool);
  const provider = toolset.get(name)?.provider;
  const isThere = CONTAINER_ID.test(id) && (await provider?.hasContainer?.({ scope, id }));
  if (containersIn(conversation, kind).includes(id)) return { id, isUsed: true };
  const responseId = responseIdOfContainer(id);
  const response = responseId && (await fromStore(() => store.get({ scope, id: responseId })));
  if (response || isThere) return { id, isUsed: response !== undefined && response !== '' };
  throw new ApiError('container_not_found', `Container with id ${quoteId(id)} not found.`, { param: 'tools' });
}
