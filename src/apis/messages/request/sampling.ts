/** The settings of a Messages request in the words of the Responses API. */

import { hash } from 'node:crypto';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { MessagesBody } from './schema.ts';

/** The least that the Responses API takes. */
const MIN_TOKENS = 16;
/** OpenAI's limit; Claude Code's ids are longer. */
const MAX_USER_ID = 64;

/** Everything but the messages and the tools. */
export function itemsSettings(body: MessagesBody): JsonObject {
  const { max_tokens: tokens, temperature, top_p, metadata, output_config: config, output_format: older } = body;
  const id = isRecord(metadata) ? metadata.user_id : undefined;
  const user = typeof id === 'string' && id !== '' ? id : undefined;
  const format = (isRecord(config) ? config.format : undefined) ?? older;
  return {
    max_output_tokens: tokens === undefined ? undefined : Math.max(tokens, MIN_TOKENS),
    temperature,
    top_p,
    safety_identifier: user !== undefined && user.length > MAX_USER_ID ? hash('sha256', user) : user,
    reasoning: reasoningSettings(body),
    text: isRecord(format)
      ? { format: { type: 'json_schema', name: 'answer', schema: format.schema, strict: true } }
      : undefined,
  };
}

/** No other server can be asked to think after its first call of a tool and not before. */
const NO_THOUGHTS: ReadonlySet<unknown> = new Set(['disabled', 'between_tools']);

/** Without a setting the model server decides, as for clients that do not mention thinking. */
function reasoningSettings({ thinking, output_config: config }: MessagesBody): JsonObject | undefined {
  const effort = isRecord(config) && typeof config.effort === 'string' ? config.effort : undefined;
  if (!isRecord(thinking) || NO_THOUGHTS.has(thinking.type)) return effort === undefined ? undefined : { effort };
  if (effort !== undefined) return { effort, summary: 'auto' };
  if (thinking.type !== 'enabled') return { effort: 'high', summary: 'auto' };
  // The effort that a budget in tokens stands for.
  const budget = Number(thinking.budget_tokens);
  return { effort: budget <= 4096 ? 'low' : budget <= 16_384 ? 'medium' : 'high', summary: 'auto' };
}
