/** A chat request as lines that a test can compare: who said what, calls numbered in the order in which they appear. */

type Fields = Readonly<Record<string, unknown>>;

/** The wire's words that a transcript reads. */
interface Message {
  readonly role: string;
  readonly content?: unknown;
  readonly tool_calls?: readonly { readonly id: string; readonly function: Fields }[];
  readonly tool_call_id?: string;
}

/** One line for each message, such as `assistant: #1 weather {"city":"Rome"}` and `tool #1: Sunny in Rome.` */
export function transcript(body: unknown): readonly string[] {
  const ids: string[] = [];
  // The cast: what the app sends its model server is a chat request.
  return (body as { readonly messages: readonly Message[] }).messages.map((message) => lineOf(message, ids));
}

function lineOf({ role, content, tool_calls: calls = [], tool_call_id: answered }: Message, ids: string[]): string {
  const who = answered === undefined ? role : `${role} #${numberOf(answered, ids)}`;
  const called = calls.map(({ id, function: { name, arguments: text } }) => `#${numberOf(id, ids)} ${name} ${text}`);
  return `${who}: ${[...textOf(content), ...called].join(' ')}`;
}

/** Ids differ from one run to the next; which call they belong to must not. */
function numberOf(id: string, ids: string[]): number {
  if (!ids.includes(id)) ids.push(id);
  return ids.indexOf(id) + 1;
}

function textOf(content: unknown): readonly string[] {
  if (content === null || content === undefined) return [];
  return [typeof content === 'string' ? content : JSON.stringify(content)];
}
