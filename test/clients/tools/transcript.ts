/** A chat request as lines that a test can compare: the role and text of each message, with calls numbered in the order in which they appear. */
import type { JsonObject } from '../../../src/protocol/record.ts';

/** What a transcript reads of a message. */
interface Message {
  readonly role: string;
  readonly content?: string | null | readonly { readonly text?: string }[];
  readonly tool_calls?: readonly { readonly id: string; readonly function: JsonObject }[];
  readonly tool_call_id?: string;
}

/** One line for each message, such as `assistant: #1 weather {"city":"Rome"}` and `tool #1: Sunny in Rome.` */
export function transcript(body: unknown): readonly string[] {
  const calls: string[] = [];
  // The cast: what the app sends its model server is a chat request.
  return (body as { readonly messages: readonly Message[] }).messages.map((message) => lineOf(message, calls));
}

function lineOf({ role, content, tool_calls: called = [], tool_call_id: answered }: Message, calls: string[]): string {
  const who = answered === undefined ? role : `${role} #${calls.lastIndexOf(answered) + 1}`;
  // Models use their ids again: each call has a number of its own, and an answer is for the latest.
  const wanted = called.map(({ id, function: { name, arguments: text } }) => `#${calls.push(id)} ${name} ${text}`);
  return `${who}: ${[textOf(content), ...wanted].filter((each) => each !== '').join(' ')}`;
}

/** Some clients write text as a list of parts. */
function textOf(content: Message['content']): string {
  if (content === null || content === undefined || typeof content === 'string') return content ?? '';
  return content.map(({ text = '' }) => text).join('');
}
