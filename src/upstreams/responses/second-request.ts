/** What is asked of a Responses server after a refusal. */
import { ApiError } from '../../protocol/errors.ts';
import type { ModelRequest } from '../../protocol/model-request.ts';
import type { Note } from '../../protocol/note.ts';
import { STATE_REJECTED, thoughtsRefusedBy, withoutThoughts } from '../http/refusals/without-thoughts.ts';

const FUNCTIONS_ONLY: Note = {
  code: 'tool_dropped',
  message:
    "The model server takes functions only: the client's other tools are offered as functions, without those that a server runs. Set `nativeTools` to false.",
};

/** The request with the client's tools as functions, and none that a server runs. */
export function asFunctions({ native: _, ...request }: ModelRequest): ModelRequest {
  return request;
}

/** Whether the server knows no tools of such types, and so cannot run them for any client. */
function refusesTypes(error: unknown): boolean {
  if (!(error instanceof ApiError) || (error.status !== 400 && error.status !== 422)) return false;
  const text = error.message.toLowerCase();
  return /\btools?\b/.test(`${text} ${error.body.param ?? ''}`) && /\btype\b/.test(text) && /\bfunction\b/.test(text);
}

/** A request in another form. */
interface SecondRequest {
  readonly request: ModelRequest;
  /** Whether the tools are functions only. */
  readonly isOfFunctions: boolean;
  /** What the host is told. */
  readonly note: Note;
}

/** The request that the server may accept instead; undefined if the refusal is final. */
export function secondRequest(
  error: unknown,
  request: ModelRequest,
  mayRefuseTypes: boolean,
): SecondRequest | undefined {
  if (mayRefuseTypes && refusesTypes(error) && request.native?.choice.length === 0)
    return { request, isOfFunctions: true, note: FUNCTIONS_ONLY };
  // Servers in front of OpenAI's pass on its words without the code.
  if (error instanceof ApiError && (error.code === 'invalid_encrypted_content' || thoughtsRefusedBy(error.message)))
    return { request: withoutThoughts(request), isOfFunctions: false, note: STATE_REJECTED };
  return undefined;
}
