/** What is asked a second time if a model server refuses the thoughts that it is sent back. */
import type { ModelRequest } from '../../../protocol/model-request.ts';
import type { Note } from '../../../protocol/note.ts';

/** Reported when the second request is made. */
export const STATE_REJECTED: Note = {
  code: 'state_rejected',
  message:
    'The model server refused the thoughts that it was given back, such as those of another account; it is asked without them.',
};

/** The request without the model's earlier thoughts. */
export function withoutThoughts(request: ModelRequest): ModelRequest {
  return { ...request, items: request.items.filter(({ type }) => type !== 'reasoning') };
}
