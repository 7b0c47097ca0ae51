/** The settings of a Messages request in the words of the Responses API. */

import { hash } from 'node:crypto';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { MessagesBody } from './schema.ts';

/** The least that the Responses API takes. */
const LEAST_TOKENS = 16;

/** Everything but the messages and the tools. */
export function itemsSettings(body: MessagesBody): JsonObject {
  const { max_tokens: tokens, temperature, top_p, metadata } = body;
  return {
    max_output_tokens: tokens === undefined ? undefined : Math.max(tokens, LEAST_TOKENS),
    temperature,
    top_p,
    safety_identifier: isRecord(metadata) ? userId(metadata.user_id) : undefined,
    reasoning: reasoning(body),
    text: textFormat(body),
  };
}

/** OpenAI's limit; Claude Code's ids are longer. */
const LONGEST_ID = 64;

function userId(id: unknown): string | undefined {
  if (typeof id !== 'string' || id === '') return undefined;
  return id.length > LONGEST_ID ? hash('sha256', id) : id;
}

/** Without a setting the model server decides, as for clients that do not mention thinking. */
function reasoning({ thinking, output_config: config }: MessagesBody): JsonObject | undefined {
  const wished = isRecord(config) && typeof config.effort === 'string' ? config.effort : undefined;
  if (!isRecord(thinking) || NO_THOUGHTS.has(thinking.type))
    return wished === undefined ? undefined : { effort: wished };
  const effort = wished ?? (thinking.type === 'enabled' ? effortOf(Number(thinking.budget_tokens)) : 'high');
  return { effort, summary: 'auto' };
}

/** No other server can be asked to think after its first call of a tool and not before. */
const NO_THOUGHTS: ReadonlySet<unknown> = new Set(['disabled', 'between_tools']);

/** The effort that a budget in tokens stands for. */
function effortOf(budget: number): string {
  if (budget <= 4096) return 'low';
  return budget <= 16_384 ? 'medium' : 'high';
}

function textFormat({ output_config: config, output_format: older }: MessagesBody): JsonObject | undefined {
  const format = (isRecord(config) ? config.format : undefined) ?? older;
  if (!isRecord(format)) return undefined;
  return { format: { type: 'json_schema', name: 'answer', schema: format.schema, strict: true } };
}
