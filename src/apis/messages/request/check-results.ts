/** Checks that each call of the client's tools has its result in the next message, and each result its call. */

import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { fault, quotedValue } from './faults.ts';

/** Messages of one role in a row are one message. */
interface Open {
  readonly index: number;
  readonly unanswered: Set<unknown>;
  readonly answered: Set<unknown>;
}

const RULE = 'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.';

/** Throws `ApiError` as Anthropic does. */
export function checkToolResults(messages: readonly { readonly role: string; readonly content: unknown }[]): void {
  let open: Open = { index: 0, unanswered: new Set(), answered: new Set() };
  let hasAnswers = true;
  for (const [index, { role, content }] of messages.entries()) {
    const blocks: readonly JsonObject[] = Array.isArray(content) ? content : [];
    if (role === 'assistant') {
      if (hasAnswers) {
        refuseUnanswered(open);
        open = { index, unanswered: new Set(), answered: new Set() };
      }
      for (const { type, id } of blocks) {
        if (type !== 'tool_use') continue;
        if (open.unanswered.has(id)) throw fault(`messages.${open.index}`, '`tool_use` ids must be unique');
        open.unanswered.add(id);
      }
    } else checkResults(open, blocks, index);
    hasAnswers = role !== 'assistant';
  }
  refuseUnanswered(open);
}

function checkResults({ unanswered, answered }: Open, blocks: readonly JsonObject[], index: number): void {
  for (const [at, block] of blocks.entries()) {
    if (!isRecord(block) || block.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (unanswered.delete(id)) {
      answered.add(id);
      continue;
    }
    const path = `messages.${index}.content.${at}`;
    const shownId = quotedValue(id);
    if (!answered.has(id))
      throw fault(path, `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${shownId}. ${RULE}`);
    throw fault(
      path,
      `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${shownId}`,
    );
  }
}

function refuseUnanswered({ index, unanswered }: Open): void {
  if (unanswered.size === 0) return;
  const ids = quotedValue([...unanswered].slice(0, 8).join(', '));
  const rule = 'Each `tool_use` block must have a corresponding `tool_result` block in the next message.';
  throw fault(
    `messages.${index}`,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ${rule}`,
  );
}
