/** Checks that each call of the client's tools has its result in the next message, and each result its call. */

import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { fault, printed } from './faults.ts';

/** Messages of one role in a row are one message. */
interface Open {
  readonly index: number;
  readonly unanswered: Set<unknown>;
  readonly answered: Set<unknown>;
}

/** Throws `ApiError` as Anthropic does. */
export function checkToolResults(messages: readonly { readonly role: string; readonly content: unknown }[]): void {
  let open: Open = { index: 0, unanswered: new Set(), answered: new Set() };
  let answers = true;
  for (const [index, { role, content }] of messages.entries()) {
    const blocks: readonly JsonObject[] = Array.isArray(content) ? content : [];
    if (role === 'assistant') {
      if (answers) {
        refuseUnanswered(open);
        open = { index, unanswered: new Set(), answered: new Set() };
      }
      addCalls(open, blocks);
    } else takeResults(open, blocks, index);
    answers = role !== 'assistant';
  }
  refuseUnanswered(open);
}

function addCalls({ index, unanswered }: Open, blocks: readonly JsonObject[]): void {
  for (const { type, id } of blocks) {
    if (type !== 'tool_use') continue;
    if (unanswered.has(id)) throw fault(`messages.${index}`, '`tool_use` ids must be unique');
    unanswered.add(id);
  }
}

function takeResults({ unanswered, answered }: Open, blocks: readonly JsonObject[], index: number): void {
  for (const [at, block] of blocks.entries()) {
    if (!isRecord(block) || block.type !== 'tool_result') continue;
    const id = block.tool_use_id;
    if (unanswered.delete(id)) answered.add(id);
    else throw fault(`messages.${index}.content.${at}`, answered.has(id) ? repeated(id) : unexpected(id));
  }
}

function refuseUnanswered({ index, unanswered }: Open): void {
  if (unanswered.size === 0) return;
  const ids = printed([...unanswered].slice(0, 8).join(', '));
  const rule = 'Each `tool_use` block must have a corresponding `tool_result` block in the next message.';
  throw fault(
    `messages.${index}`,
    `\`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${ids}. ${rule}`,
  );
}

const RULE = 'Each `tool_result` block must have a corresponding `tool_use` block in the previous message.';

function unexpected(id: unknown): string {
  return `unexpected \`tool_use_id\` found in \`tool_result\` blocks: ${printed(id)}. ${RULE}`;
}

function repeated(id: unknown): string {
  return `each tool_use must have a single result. Found multiple \`tool_result\` blocks with id: ${printed(id)}`;
}
