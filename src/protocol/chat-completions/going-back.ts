/** Writes into an assistant message what its own server needs back: reasoning under its field, and what came sealed. */
import type { JsonObject } from '../record.ts';
import type { CallState, ChatState, ReasoningField } from './answer-state.ts';

/** What the model said in one go. */
export interface Said {
  readonly text: string | undefined;
  readonly reasoning: string;
  readonly calls: readonly unknown[];
  readonly states: readonly ChatState[];
}

/** How its server likes it. */
export interface BackOptions {
  readonly reasoningReplay: boolean;
  readonly reasoningField?: ReasoningField | undefined;
}

/** A call as it stands in the message. */
interface NamedCall {
  readonly id: string;
  readonly name: string;
}

/** The content, the reasoning and the opaque fields. Reasoning in words goes back with calls only: models are trained so. */
export function backTo(
  { text = '', reasoning, calls, states }: Said,
  { reasoningReplay, reasoningField = 'reasoning_content' }: BackOptions,
): JsonObject {
  const details = reasoningReplay ? states.flatMap((state) => state.details ?? []) : [];
  const thought = reasoningReplay && calls.length > 0 ? reasoning : '';
  const field = fieldOf(states, details.length > 0, reasoningField);
  return {
    content: text === '' && calls.length > 0 ? null : text,
    ...(thought === '' || !field ? {} : WRITE[field](thought, text)),
    ...(details.length > 0 ? { reasoning_details: details } : {}),
    ...Object.assign({}, ...states.map(({ message }) => message)),
  };
}

/** Undefined where the entries say all of it. */
function fieldOf(states: readonly ChatState[], hasDetails: boolean, usual: ReasoningField): ReasoningField | undefined {
  const told = states.find(({ field }) => field)?.field;
  if (hasDetails) return told === 'reasoning_details' ? undefined : told;
  return told ?? usual;
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

/** The extras by the place of their call: that of its id, or, where it has another one here, that at its place of its name. */
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
