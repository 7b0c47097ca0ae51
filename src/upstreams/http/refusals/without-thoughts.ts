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

/** Whose words they are in which a server refuses thoughts; one in front of several models passes on those of the model's own. */
export function thoughtsRefusedBy(text: string): keyof typeof REFUSED_THOUGHTS | undefined {
  for (const whose of ['anthropic', 'openai', 'gemini'] as const) if (REFUSED_THOUGHTS[whose].test(text)) return whose;
  return undefined;
}

const REFUSED_THOUGHTS = {
  // Of another account or conversation, changed, or empty.
  anthropic:
    /invalid `?(?:signature|data)`? in `?(?:redacted_)?thinking`?\s{1,16}block|thinking`? blocks [^\n]{0,80}cannot be modified|each thinking block must contain/i,
  // Of another account, for a model that does not reason, or apart from what followed them.
  openai:
    /encrypted content [^\n]{0,400}could not be|reasoning input items can only|of type 'reasoning' was provided without/i,
  gemini: /thought[_ ]?signature[^\n]{0,40} not valid|(?:invalid|corrupted)[^\n]{0,60}thought[_ ]?signature/i,
} as const;
