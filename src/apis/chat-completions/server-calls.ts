/** The calls of a chat completion that are not its client's: what runs them, and what is stored of them. */

import { guardedCalls } from '../../engine/guarding/guarded-calls.ts';
import type { RequestGuards } from '../../engine/guarding/request/request-guards.ts';
import type { EndpointRequest } from '../../engine/request/endpoint-request.ts';
import type { StoreWriteSettings } from '../../engine/request/keep.ts';
import { conversationImages } from '../../engine/tools/conversation-images.ts';
import type { RunCall } from '../../engine/tools/rounds.ts';
import { toolRunner } from '../../engine/tools/tool-runner.ts';
import { hiddenTools } from '../../engine/tools/toolset.ts';
import { findWorkspaces } from '../../engine/tools/workspace.ts';
import type { RoundCall } from '../../engine/turn/machine/tool-rounds.ts';
import type { Loop } from '../../engine/turn/tool-loop.ts';
import type { Reports } from '../../ports/hooks.ts';
import { NO_TOOLS, type Toolset } from '../../ports/toolset.ts';
import { randomSeed } from '../../protocol/ids.ts';
import type { PrepareSettings } from '../endpoint/prepare.ts';
import { type ChatRound, keepResults } from './kept-results.ts';
import { messageItems } from './request/items.ts';
import { toolNames } from './request/prepare-tools.ts';
import { uploadsForCode } from './request/read-uploads.ts';
import type { ChatBody } from './request/schema.ts';

/** The server's part in one completion. */
export interface ServerCalls {
  readonly toolset: Toolset;
  /** Runs one call; rejects only when the turn is aborted. */
  readonly runCall: RunCall<RoundCall>;
  /** The tools that the model is offered once it has found them. */
  readonly deferred: Loop['deferred'];
  /** Stores what the client cannot send back, for the request in which it answers its own calls. */
  readonly keepResults: (round: ChatRound) => Promise<void>;
}

/** Prepares the calls of one request. `signal` ends them. */
export async function serverCalls(
  request: EndpointRequest,
  body: ChatBody,
  settings: PrepareSettings & StoreWriteSettings & { readonly hooks: Reports },
  signal: AbortSignal,
  guards: RequestGuards | undefined,
): Promise<ServerCalls> {
  const { toolset = NO_TOOLS, client: tools = [] } = request.context?.tools ?? {};
  const { scope } = request;
  // Messages have no containers: the code of each request runs in a new one, unless the request names one.
  const conversation = await uploadsForCode(tools, toolset, { scope, signal }, settings);
  const hasUploads = settings.files !== undefined;
  const workspaces = await findWorkspaces(
    { toolset, tools, conversation, seed: randomSeed(), scope, hasUploads },
    settings.store,
  );
  const images = conversationImages(toolset, body.messages, messageItems);
  const run = toolRunner({ toolset, workspaces, images, tools }, request, settings, signal);
  const runCall = guards ? guardedCalls(run, guards, signal) : run;
  return {
    toolset,
    runCall: async (call, onPartialImage) => {
      // Without what turns marks in the text into citations: clients of this API receive the text as the model wrote it.
      const { passages: _, results: __, ...outcome } = await runCall(call, onPartialImage);
      return outcome;
    },
    deferred: hiddenTools(toolset, toolNames(body)),
    keepResults: (round) => keepResults(settings, request, round),
  };
}
