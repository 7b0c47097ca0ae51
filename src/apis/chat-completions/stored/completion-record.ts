/** Stores the answer of a request with `store: true`, as its client receives it. */

import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import { runStoreWrite, type StoreWriteSettings } from '../../../engine/request/keep.ts';
import { reportInfo } from '../../../ports/hooks.ts';
import type { Limits } from '../../../ports/limits.ts';
import { isUntracked } from '../../../ports/scope.ts';
import { isId } from '../../../protocol/ids.ts';
import type { Note } from '../../../protocol/note.ts';
import type { JsonObject } from '../../../protocol/record.ts';
import { invalid } from '../../../protocol/responses/invalid.ts';
import { metadataSchema } from '../../../protocol/responses/schema.ts';
import { noteReporter } from '../../endpoint/prepare.ts';
import type { ChatBody } from '../request/schema.ts';
import { ShownCompletion } from './shown-completion.ts';
import { StoredCompletions } from './stored-completions.ts';

/** Reads one answer, and stores it at its end. */
export interface CompletionRecord {
  /** Takes frames that the client receives, except for the last one. */
  takeFrames(text: string): void;
  /** Takes the whole answer. */
  takeWhole(text: string): void;
  /** Stores it. Throws `store_error`, or only reports it, as the host configured. */
  keep(): Promise<void>;
}

/** What is stored of the request beside its messages, by the name that the stored completion has for it. */
const REQUEST_FIELDS = {
  tool_choice: 'tool_choice',
  tools: 'tools',
  seed: 'seed',
  temperature: 'temperature',
  top_p: 'top_p',
  presence_penalty: 'presence_penalty',
  frequency_penalty: 'frequency_penalty',
  response_format: 'response_format',
  input_user: 'user',
} as const;

/** How much more than the answer's text a kept answer may be: its calls, log probabilities and citations. */
const MAX_GROWTH = 4;

/** The body without what is only for this server, which stores the answer in the place of the model server. */
export function withoutStoring<Body extends JsonObject>({
  store: _,
  metadata: __,
  ...body
}: Body): Omit<Body, 'store' | 'metadata'> {
  return body;
}

/**
 * The record of the answer to this request. `messages` are those that the model receives. Throws `ApiError` for metadata that
 * cannot be stored.
 */
export function completionRecord(
  request: EndpointRequest,
  body: ChatBody,
  messages: ChatBody['messages'],
  settings: StoreWriteSettings & { readonly limits: Limits },
): CompletionRecord {
  const { scope, requestId } = request;
  const checked = metadataSchema().nullish().safeParse(body.metadata);
  if (!checked.success) throw invalid(checked.error.issues, body.metadata, ['metadata']);
  const note = noteReporter(request, settings);
  const shown = new ShownCompletion(settings.limits.outputBytes * MAX_GROWTH);
  const fields = Object.entries(REQUEST_FIELDS).map(([name, field]) => [name, body[field] ?? null] as const);
  const asked = { ...Object.fromEntries(fields), request_id: requestId, metadata: checked.data ?? {} };
  return {
    takeFrames: (text) => shown.takeFrames(text),
    takeWhole: (text) => shown.takeWhole(text),
    async keep() {
      if (isUntracked(scope)) return note(UNKNOWN_TENANT);
      const answer = shown.resource();
      if (!answer || !isId(String(answer.id))) return note(NO_COMPLETION);
      const stored = { completion: { ...asked, ...answer, metadata: asked.metadata }, messages };
      await runStoreWrite(
        () => new StoredCompletions(settings.store, scope).put(stored),
        settings,
        reportInfo(request, requestId),
      );
    },
  };
}

const UNKNOWN_TENANT: Note = {
  code: 'chat_unstored',
  message: 'The chat completion was not stored: this server cannot tell whose it is.',
};
const NO_COMPLETION: Note = {
  code: 'chat_unstored',
  message: 'The chat completion was not stored: the answer has no id, or is too long.',
};
