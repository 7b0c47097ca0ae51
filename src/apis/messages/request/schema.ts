/** The request of `POST /v1/messages`, checked in Anthropic's words. */

import { DEFAULT_LIMITS } from '../../../ports/limits.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { bodyFields } from '../../../protocol/json/json-shape.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { BringLimits } from '../../../protocol/responses/bring-limits.ts';
import { checkToolResults } from './check-results.ts';
import {
  aBoolean,
  aList,
  aName,
  anObject,
  aShare,
  aString,
  type Check,
  fault,
  fields,
  integerFrom,
  oneOf,
  optional,
  printed,
  strings,
  tagged,
} from './faults.ts';

/** A content block; its fields are Anthropic's. */
export type Block = JsonObject & { readonly type: string };

/** A message whose content is a list. */
interface Message {
  readonly role: 'user' | 'assistant' | 'system';
  readonly content: readonly Block[];
}

/** A checked body, with all its other fields. */
export interface MessagesBody extends JsonObject {
  readonly model: string;
  readonly max_tokens?: number;
  readonly messages: readonly (JsonObject & {
    readonly role: Message['role'];
    readonly content?: string | readonly Block[];
  })[];
  readonly system?: string | readonly Block[] | null;
  readonly stream?: boolean | null;
  readonly tools?: readonly JsonObject[] | null;
  readonly tool_choice?: (JsonObject & { readonly type: string }) | null;
  readonly mcp_servers?: readonly (JsonObject & { readonly name: string; readonly url: string })[] | null;
}

const anyOf = (...types: readonly string[]): Readonly<Record<string, Check>> =>
  Object.fromEntries(types.map((type) => [type, anObject]));

const imageType = oneOf('image/jpeg', 'image/png', 'image/gif', 'image/webp');
const url = fields({ url: aName });
const file = fields({ file_id: aName });
const imageSource = tagged({ base64: fields({ media_type: imageType, data: aName }), url, file });
const documentSource = tagged({
  base64: fields({ media_type: oneOf('application/pdf'), data: aName }),
  text: fields({ media_type: oneOf('text/plain'), data: aString }),
  content: fields({
    content: textOr(listOfBlocks(tagged({ text: anObject, image: fields({ source: imageSource }) }))),
  }),
  url,
  file,
});

function textOr(check: Check): Check {
  return (value, path) => {
    if (typeof value !== 'string') check(value, path);
  };
}

function listOfBlocks(block: Check): Check {
  return (value, path) => {
    aList(value, path);
    // A loop over indices: there may be 100,000.
    const list = value as readonly unknown[];
    for (let index = 0; index < list.length; index += 1) block(list[index], `${path}.${index}`);
  };
}

const text: Check = (value, path) => {
  textField(value, path);
  if ((value as Block).text === '') throw fault('messages', 'text content blocks must be non-empty');
};
const textField = fields({ text: aString });
const image = fields({ source: imageSource });
const document = fields({ source: documentSource, title: optional(aString), context: optional(aString) });
const searchResult = fields({ source: aString, title: aString, content: listOfBlocks(tagged({ text: textField })) });
const resultBlock = tagged({
  text: textField,
  image,
  document,
  search_result: searchResult,
  ...anyOf('tool_reference', 'browser_state'),
});
const result = fields({
  tool_use_id: aName,
  content: optional(textOr(listOfBlocks(resultBlock))),
  is_error: optional(aBoolean),
});
const use = { id: aName, name: aName, input: anObject };

/** The blocks of a user's message, and those that only a model's may hold. */
const USER_BLOCKS: Readonly<Record<string, Check>> = {
  image,
  document,
  search_result: searchResult,
  tool_result: result,
  container_upload: file,
};
const ASSISTANT_BLOCKS: Readonly<Record<string, Check>> = {
  tool_use: fields(use),
  thinking: fields({ thinking: aString, signature: aString }),
  redacted_thinking: fields({ data: aString }),
  server_tool_use: fields(use),
  mcp_tool_use: fields({ ...use, server_name: aName }),
};
const RESULTS = fields({ tool_use_id: aName });
const EITHER: Readonly<Record<string, Check>> = {
  text,
  mcp_tool_result: RESULTS,
  web_search_tool_result: RESULTS,
  web_fetch_tool_result: RESULTS,
  code_execution_tool_result: RESULTS,
  bash_code_execution_tool_result: RESULTS,
  text_editor_code_execution_tool_result: RESULTS,
  tool_search_tool_result: RESULTS,
  ...anyOf('compaction', 'fallback', 'tool_addition', 'tool_removal', 'mcp_tool_listing', 'advisor_tool_result'),
};
const block = tagged({ ...EITHER, ...USER_BLOCKS, ...ASSISTANT_BLOCKS });

const content = textOr(listOfBlocks(block));

const mcpServers = optional(listOfBlocks(fields({ name: aName, url: aName, authorization_token: optional(aString) })));

/** `updates` is `omitted` here: the reports between calls that it would show are written by Anthropic's models alone. */
const display = { display: optional(oneOf('summarized', 'omitted', 'updates')) };

/** The fields besides the messages and tools. */
const BODY: Readonly<Record<string, Check>> = {
  system: optional(textOr(listOfBlocks(tagged({ text: textField })))),
  temperature: optional(aShare),
  top_p: optional(aShare),
  top_k: optional(integerFrom(0)),
  stop_sequences: optional(strings),
  metadata: optional(fields({ user_id: optional(aString) })),
  thinking: optional(
    tagged({
      enabled: fields({ budget_tokens: integerFrom(1024), ...display }),
      adaptive: fields(display),
      between_tools: fields(display),
      disabled: fields(display),
    }),
  ),
  output_config: optional(fields({ effort: optional(aString), format: optional(outputFormat()) })),
  output_format: optional(outputFormat()),
  tool_choice: optional(
    tagged({
      ...anyOf('auto', 'any', 'none'),
      tool: fields({ name: aName, disable_parallel_tool_use: optional(aBoolean) }),
    }),
  ),
};

function outputFormat(): Check {
  return tagged({ json_schema: fields({ schema: anObject }) });
}

/**
 * Checks the fields that decide which server answers, as strictly as every server of this API does. Throws `ApiError`
 * naming the field at fault. A count of tokens needs no `max_tokens`.
 */
export function checkMessages(
  given: unknown,
  limits: BringLimits = DEFAULT_LIMITS,
  needsMaxTokens = true,
): MessagesBody {
  const body = bodyFields(given, limits);
  aName(body.model, 'model');
  (needsMaxTokens ? integerFrom(1) : optional(integerFrom(1)))(body.max_tokens, 'max_tokens');
  aList(body.messages, 'messages');
  refuseMany(body.messages as readonly unknown[], limits);
  optional(aBoolean)(body.stream, 'stream');
  checkToolList(body.tools, limits);
  mcpServers(body.mcp_servers, 'mcp_servers');
  // The cast: these fields have been checked, and the others are before they are read.
  return body as MessagesBody;
}

/**
 * Checks all other fields that this server reads; a server that receives the body unchanged has its own checks. Throws
 * `ApiError`.
 */
export function checkContent(body: MessagesBody): void {
  const messages = body.messages as readonly Message[];
  for (const [index, message] of messages.entries()) checkMessage(message, index, index === messages.length - 1);
  for (const [name, check] of Object.entries(BODY)) check(body[name], name);
  checkTools(body.tools ?? []);
  checkThinking(body);
  if (messages.length === 0) throw fault('messages', 'at least one message is required');
  checkToolResults(messages);
}

function refuseMany(messages: readonly unknown[], { inputItems }: BringLimits): void {
  const blocks = messages.reduce<number>((sum, each) => sum + countOf(each), 0);
  if (blocks <= inputItems) return;
  throw new ApiError('request_too_large', `messages: at most ${inputItems} messages and content blocks are accepted`);
}

function countOf(message: unknown): number {
  return isRecord(message) && Array.isArray(message.content) ? Math.max(message.content.length, 1) : 1;
}

function checkMessage(message: unknown, index: number, isLast: boolean): void {
  const path = `messages.${index}`;
  anObject(message, path);
  // The cast: checked just above.
  const { role, content: value } = message as JsonObject;
  aString(role, `${path}.role`);
  if (!ROLES.has(role))
    throw fault('messages', `Unexpected role "${printed(role)}". Allowed roles are "user" and "assistant".`);
  // A message that only changes the tools needs no content.
  if (role === 'system' && (value === undefined || value === null)) return;
  content(value, `${path}.content`);
  const isEmpty = (value as string | readonly unknown[]).length === 0;
  if (isEmpty && role !== 'system' && !(isLast && role === 'assistant'))
    throw fault(path, 'all messages must have non-empty content except for the optional final assistant message');
  if (Array.isArray(value)) checkRoles(value, role, path);
}

const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system']);

function checkRoles(blocks: readonly Block[], role: unknown, path: string): void {
  const foreign = role === 'assistant' ? USER_BLOCKS : ASSISTANT_BLOCKS;
  const wrong = blocks.find(({ type }) => Object.hasOwn(foreign, type));
  if (!wrong) return;
  const whose = role === 'assistant' ? 'user' : 'assistant';
  throw fault(path, `\`${wrong.type}\` blocks can only be in \`${whose}\` messages`);
}

const custom = fields({ name: aString, input_schema: anObject, description: optional(aString) });

function checkToolList(tools: unknown, { tools: most }: BringLimits): void {
  if (tools === undefined || tools === null) return;
  aList(tools, 'tools');
  const list = tools as readonly unknown[];
  if (list.length > most)
    throw fault('tools', `List should have at most ${most} items after validation, not ${list.length}`);
  for (const [index, tool] of list.entries()) anObject(tool, `tools.${index}`);
}

function checkTools(tools: readonly JsonObject[]): void {
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    checkTool(tool, `tools.${index}`);
    if (tool.name !== undefined && names.has(tool.name)) throw fault('tools', 'Tool names must be unique.');
    names.add(tool.name);
  }
}

function checkTool(tool: JsonObject, path: string): void {
  const { type = 'custom', name, input_schema: schema } = tool;
  aString(type ?? 'custom', `${path}.type`);
  if (type !== 'custom' && type !== null) return;
  custom(tool, `${path}.custom`);
  if (!/^[\w-]{1,64}$/.test(name as string))
    throw fault(`${path}.custom.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'");
  if ((schema as JsonObject).type !== 'object')
    throw fault(`${path}.custom.input_schema.type`, "Input should be 'object'");
}

function checkThinking({ thinking, max_tokens: most }: JsonObject): void {
  if (!isRecord(thinking) || thinking.type !== 'enabled' || typeof most !== 'number') return;
  if ((thinking.budget_tokens as number) >= most)
    throw fault('max_tokens', '`max_tokens` must be greater than `thinking.budget_tokens`');
}
