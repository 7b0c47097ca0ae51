/** Reads the messages of a chat request as far as the demo model understands them. */

/** A message as it is on the wire. */
export interface ChatMessage {
  readonly role: string;
  readonly content?: string | readonly ChatPart[] | null;
}

interface ChatPart {
  readonly type: string;
  readonly text?: string;
}

/** The conversation, and which part of it is new since the model's last message. */
export interface Conversation {
  /** The user's new text; empty if there are only new outputs of tools. */
  readonly prompt: string;
  /** The user's text before that. */
  readonly earlier: string;
  /** How many images are new. */
  readonly images: number;
  /** The new outputs of tools. */
  readonly outputs: readonly string[];
  /** How many words there are in all messages. */
  readonly words: number;
}

/** Reads the whole conversation. */
export function readConversation(messages: readonly ChatMessage[]): Conversation {
  const fresh = messages.slice(messages.findLastIndex(({ role }) => role === 'assistant') + 1);
  const prompt = userTexts(fresh).at(-1) ?? '';
  const spoken = userTexts(messages);
  return {
    prompt,
    earlier: spoken.at(prompt === '' ? -1 : -2) ?? '',
    images: fresh.flatMap(messageParts).filter(({ type }) => type === 'image_url').length,
    outputs: fresh.filter(({ role }) => role === 'tool').map(messageText),
    words: messages.map(messageText).join(' ').split(/\s+/).filter(Boolean).length,
  };
}

function userTexts(messages: readonly ChatMessage[]): readonly string[] {
  return messages
    .filter(({ role }) => role === 'user')
    .map(messageText)
    .filter(Boolean);
}

function messageText(message: ChatMessage): string {
  return messageParts(message)
    .map(({ text }) => text ?? '')
    .join('');
}

function messageParts({ content }: ChatMessage): readonly ChatPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return content ?? [];
}
