/** Adds to an assistant message what its own server needs back: reasoning in its field, and opaque provider state. */
import type { JsonObject } from '../record.ts';
import type { CallState, ChatState, ReasoningField } from './answer-state.ts';

/** The model's output of one message. */
interface AssistantTurn {
  readonly text: string | undefined;
  readonly reasoning: string;
  readonly calls: readonly unknown[];
  readonly states: readonly ChatState[];
}

/** The message format that its server expects. */
interface BackOptions {
  readonly reasoningReplay: boolean;
  readonly reasoningField?: ReasoningField | undefined;
  readonly reasoningRequired?: boolean;
}

/** Replaces reasoning that a server requires and that nobody has: an empty text counts as none. */
const NO_THOUGHT = ' ';

/** A call as the message holds it. */
interface NamedCall {
  readonly id: string;
  readonly name: string;
}

/**
 * The content, the reasoning and the opaque fields. Readable reasoning is sent back with calls only, because models are
 * trained so, unless the server requires it with every message.
 */
export function backTo(
  { text = '', reasoning, calls, states }: AssistantTurn,
  { reasoningReplay, reasoningField = 'reasoning_content', reasoningRequired = false }: BackOptions,
): JsonObject {
  const details = reasoningReplay ? states.flatMap((state) => state.details ?? []) : [];
  const readable = reasoningReplay && (calls.length > 0 || reasoningRequired) ? reasoning : '';
  const thought = readable === '' && reasoningReplay && reasoningRequired ? NO_THOUGHT : readable;
  const field = fieldOf(states, details.length > 0, reasoningField);
  return {
    content: text === '' && calls.length > 0 ? null : text,
    ...(thought === '' || !field ? {} : WRITE[field](thought, text)),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...Object.assign({}, ...states.map(({ message }) => message)),
  };
}

/** Undefined if the entries contain all of it. */
function fieldOf(states: readonly ChatState[], hasDetails: boolean, usual: ReasoningField): ReasoningField | undefined {
  const named = states.find(({ field }) => field)?.field;
  if (hasDetails) return named === 'reasoning_details' ? undefined : named;
  return named ?? usual;
}

const WRITE: Readonly<Record<ReasoningField, (thought: string, text: string) => JsonObject>> = {
  reasoning_content: (thought) => ({ reasoning_content: thought }),
  reasoning: (thought) => ({ reasoning: thought }),
  reasoning_text: (thought) => ({ reasoning_text: thought }),
  reasoning_details: (thought) => ({ reasoning_details: [{ type: 'reasoning.text', text: thought }] }),
  thinking: (thought, text) => ({
    content: [
      { type: 'thinking', thinking: [{ type: 'text', text: thought }] },
      ...(text === '' ? [] : [{ type: 'text', text }]),
    ],
  }),
  think_tags: (thought, text) => ({ content: `<think>${thought}</think>${text}` }),
};

/**
 * The extra fields by the index of their call: matched by its id, or, if the id has changed, by the index among calls
 * of its name.
 */
export function extrasOf(states: readonly ChatState[], calls: readonly NamedCall[]): ReadonlyMap<number, JsonObject> {
  const extras = new Map<number, JsonObject>();
  const given = states.flatMap((state) => state.calls ?? []);
  if (given.length === 0) return extras;
  const places = new Map(calls.map(({ id }, place) => [id, place]));
  for (const state of given) {
    const place = places.get(state.id) ?? placeByName(state, calls);
    if (place !== undefined) extras.set(place, { extra_content: state.extra });
  }
  return extras;
}

function placeByName({ at, name }: CallState, calls: readonly NamedCall[]): number | undefined {
  return calls[at]?.name === name ? at : undefined;
}
