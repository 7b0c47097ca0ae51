/** The request of `POST /v1/messages`, checked in Anthropic's words. */

import { ApiError } from '../../../protocol/errors.ts';
import { bodyFields } from '../../../protocol/json/json-shape.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import type { RequestLimits } from '../../../protocol/responses/bring-limits.ts';
import { checkToolResults } from './check-results.ts';
import {
  aBoolean,
  aList,
  aName,
  anObject,
  aShare,
  aString,
  type Check,
  checkSchema,
  describedCheck,
  fault,
  fields,
  fieldsSchema,
  integerFrom,
  oneWord,
  optional,
  quotedValue,
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

const imageType = oneWord('image/jpeg', 'image/png', 'image/gif', 'image/webp');
const url = fields({ url: aName });
const file = fields({ file_id: aName });
const imageSource = tagged({ base64: fields({ media_type: imageType, data: aName }), url, file });
const documentSource = tagged({
  base64: fields({ media_type: oneWord('application/pdf'), data: aName }),
  text: fields({ media_type: oneWord('text/plain'), data: aString }),
  content: fields({
    content: textOr(listOfBlocks(tagged({ text: anObject, image: fields({ source: imageSource }) }))),
  }),
  url,
  file,
});

function textOr(check: Check): Check {
  const either: Check = (value, path) => {
    if (typeof value !== 'string') check(value, path);
  };
  return describedCheck(either, () => ({ anyOf: [checkSchema(aString), checkSchema(check)] }));
}

function listOfBlocks(block: Check): Check {
  const check: Check = (value, path) => {
    aList(value, path);
    // A loop over indices: there may be 100,000.
    const list = value as readonly unknown[];
    for (let index = 0; index < list.length; index += 1) block(list[index], `${path}.${index}`);
  };
  return describedCheck(check, () => ({ type: 'array', items: checkSchema(block) }));
}

const text = describedCheck(
  (value, path) => {
    textField(value, path);
    if ((value as Block).text === '') throw fault('messages', 'text content blocks must be non-empty');
  },
  () => fieldsSchema({ text: aName }),
);
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
/** A content block of a message. */
export const block = tagged({ ...EITHER, ...USER_BLOCKS, ...ASSISTANT_BLOCKS });

const content = textOr(listOfBlocks(block));

const mcpServers = optional(listOfBlocks(fields({ name: aName, url: aName, authorization_token: optional(aString) })));

/** `updates` is `omitted` here: the reports between calls that it would show are written by Anthropic's models alone. */
const display = { display: optional(oneWord('summarized', 'omitted', 'updates')) };

const outputFormat = optional(tagged({ json_schema: fields({ schema: anObject }) }));

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
  output_config: optional(fields({ effort: optional(aString), format: outputFormat })),
  output_format: outputFormat,
  tool_choice: optional(
    tagged({
      ...anyOf('auto', 'any', 'none'),
      tool: fields({ name: aName, disable_parallel_tool_use: optional(aBoolean) }),
    }),
  ),
};

/**
 * Checks the fields that decide which server answers, as strictly as every server of this API does. Throws `ApiError`
 * naming the field at fault. A count of tokens needs no `max_tokens`.
 */
export function checkMessages(sent: unknown, limits: RequestLimits, needsMaxTokens = true): MessagesBody {
  const body = bodyFields(sent, limits);
  const { model, max_tokens: maxTokens, messages, stream, tools, mcp_servers: servers } = body;
  aName(model, 'model');
  (needsMaxTokens ? integerFrom(1) : optional(integerFrom(1)))(maxTokens, 'max_tokens');
  aList(messages, 'messages');
  let blocks = 0;
  for (const message of messages as readonly unknown[])
    blocks += isRecord(message) && Array.isArray(message.content) ? Math.max(message.content.length, 1) : 1;
  if (blocks > limits.inputItems) {
    const message = `messages: at most ${limits.inputItems} messages and content blocks are accepted`;
    throw new ApiError('request_too_large', message);
  }
  optional(aBoolean)(stream, 'stream');
  optional(aList)(tools, 'tools');
  const toolList = (tools ?? []) as readonly unknown[];
  if (toolList.length > limits.tools)
    throw fault('tools', `List should have at most ${limits.tools} items after validation, not ${toolList.length}`);
  for (const [index, tool] of toolList.entries()) anObject(tool, `tools.${index}`);
  mcpServers(servers, 'mcp_servers');
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
  const { thinking, max_tokens: maxTokens } = body;
  if (isRecord(thinking) && thinking.type === 'enabled' && typeof maxTokens === 'number') {
    if ((thinking.budget_tokens as number) >= maxTokens)
      throw fault('max_tokens', '`max_tokens` must be greater than `thinking.budget_tokens`');
  }
  if (messages.length === 0) throw fault('messages', 'at least one message is required');
  checkToolResults(messages);
}

const ROLES: ReadonlySet<unknown> = new Set(['user', 'assistant', 'system']);

function checkMessage(message: unknown, index: number, isLast: boolean): void {
  const path = `messages.${index}`;
  anObject(message, path);
  // The cast: checked just above.
  const { role, content: value } = message as JsonObject;
  aString(role, `${path}.role`);
  if (!ROLES.has(role))
    throw fault('messages', `Unexpected role "${quotedValue(role)}". Allowed roles are "user" and "assistant".`);
  // A message that only changes the tools needs no content.
  if (role === 'system' && (value === undefined || value === null)) return;
  content(value, `${path}.content`);
  const isEmpty = (value as string | readonly unknown[]).length === 0;
  if (isEmpty && role !== 'system' && !(isLast && role === 'assistant'))
    throw fault(path, 'all messages must have non-empty content except for the optional final assistant message');
  if (!Array.isArray(value)) return;
  const [foreign, owner] = role === 'assistant' ? [USER_BLOCKS, 'user'] : [ASSISTANT_BLOCKS, 'assistant'];
  // The cast: the blocks have been checked.
  const wrong = (value as readonly Block[]).find(({ type }) => Object.hasOwn(foreign, type));
  if (wrong) throw fault(path, `\`${wrong.type}\` blocks can only be in \`${owner}\` messages`);
}

const custom = fields({ name: aString, input_schema: anObject, description: optional(aString) });

function checkTools(tools: readonly JsonObject[]): void {
  const names = new Set<unknown>();
  for (const [index, tool] of tools.entries()) {
    const path = `tools.${index}`;
    const { type = 'custom', name, input_schema: schema } = tool;
    aString(type ?? 'custom', `${path}.type`);
    if (type === 'custom' || type === null) {
      custom(tool, `${path}.custom`);
      // The casts: checked just above.
      if (!/^[\w-]{1,64}$/.test(name as string))
        throw fault(`${path}.custom.name`, "String should match pattern '^[a-zA-Z0-9_-]{1,64}$'");
      if ((schema as JsonObject).type !== 'object')
        throw fault(`${path}.custom.input_schema.type`, "Input should be 'object'");
    }
    if (name !== undefined && names.has(name)) throw fault('tools', 'Tool names must be unique.');
    names.add(name);
  }
}

/** What is checked of a body, as JSON Schema; `blocks` is that of a content block. Its other fields are those of Anthropic's API. */
export function messagesSchema(blocks: JsonObject, needsMaxTokens: boolean): JsonObject {
  const maxTokens = integerFrom(1);
  const { properties, required }: JsonObject = fieldsSchema({
    model: aName,
    max_tokens: needsMaxTokens ? maxTokens : optional(maxTokens),
    stream: optional(aBoolean),
    mcp_servers: mcpServers,
    ...BODY,
  });
  const message = {
    type: 'object',
    properties: {
      role: { enum: [...ROLES] },
      content: { anyOf: [{ type: 'string' }, { type: 'array', items: blocks }] },
    },
    required: ['role'],
  };
  const tool = {
    type: 'object',
    description: "A function with `name` and `input_schema`, or a tool of Anthropic's, by its `type`.",
    properties: { type: { type: ['string', 'null'] }, name: { type: 'string' }, input_schema: { type: 'object' } },
  };
  const lists = {
    messages: { type: 'array', minItems: 1, items: message },
    tools: { anyOf: [{ type: 'array', items: tool }, { type: 'null' }] },
  };
  // The casts: `fieldsSchema` has made both.
  return {
    type: 'object',
    properties: { ...(properties as JsonObject), ...lists },
    required: ['messages', ...(required as readonly string[])],
  };
}
