/** The kept part of a request's body: redacted items, and the beginning of the user's last message. */
import { truncateText } from '../../../protocol/printable.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { withoutKeys } from '../../../protocol/secrets/scrub.ts';

/** The host's own redaction of an item or a message; what it returns is kept in its place. */
export type Redact = (item: JsonObject) => unknown;

const MAX_PREVIEW = 160;
/** How many of the last items are searched for a text: a request may have a hundred thousand. */
const MAX_SEARCHED = 100;
/** Lists of the APIs that hold items or messages. */
const LISTS = ['input', 'messages'] as const;
/** What the APIs call the system's own message. */
const RULES = ['instructions', 'system'] as const;

/** The function with which items are kept: an item that it throws for is left out. */
export function catchRedactErrors(redact: Redact | undefined): Redact {
  if (!redact) return (item) => item;
  return (item) => {
    try {
      return redact(item);
    } catch {
      return '*** (redact threw)';
    }
  };
}

/** The body with each item redacted; texts that stand for an item are redacted as messages. */
export function redactedBody(body: unknown, redact: Redact): unknown {
  if (!isRecord(body)) return body;
  const changed: Record<string, unknown> = {};
  for (const name of LISTS) {
    const list = body[name];
    if (Array.isArray(list)) changed[name] = list.map((item) => (isRecord(item) ? redact(item) : item));
    if (typeof list === 'string') changed[name] = redact({ type: 'message', role: 'user', content: list });
  }
  for (const name of RULES)
    if (typeof body[name] === 'string' || Array.isArray(body[name]))
      changed[name] = redact({ type: 'message', role: 'system', content: body[name] });
  return { ...body, ...changed };
}

/** The last text of the user; empty if there is none. */
export function lastUserText(body: unknown): string {
  if (!isRecord(body)) return '';
  const list = body.input ?? body.messages;
  if (typeof list === 'string') return list;
  const newest = Array.isArray(list) ? list.slice(-MAX_SEARCHED) : [];
  for (const item of newest.reverse()) {
    const text = itemText(item);
    if (text !== '') return text;
    // An answer to an approval has no text of its own.
    if (isRecord(item) && item.type === 'mcp_approval_response')
      return item.approve === true ? 'Approval: yes' : 'Approval: no';
  }
  return '';
}

/** The beginning of a text on one line, without what looks like a key. */
export function preview(text: string): string {
  return withoutKeys(truncateText(text, MAX_PREVIEW).replace(/\s+/g, ' ').trim());
}

/** The text of an item or a message: its content, its output, or the parts of either. */
export function itemText(item: unknown): string {
  if (!isRecord(item)) return '';
  const content = item.content ?? item.output ?? item.summary;
  if (typeof content === 'string') return content;
  const part = Array.isArray(content)
    ? content.find((each) => isRecord(each) && typeof each.text === 'string')
    : undefined;
  return isRecord(part) ? String(part.text) : '';
}
