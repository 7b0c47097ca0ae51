/** Applies the settings of a provider to the parts of a chat body; all functions are pure. */
import { hash } from 'node:crypto';
import { ApiError } from '../../protocol/errors.ts';
import type { ModelFacts } from '../../protocol/model-facts.ts';
import type { ModelRequest, ToolDefinition } from '../../protocol/model-request.ts';
import { nameTest } from '../../protocol/name-patterns.ts';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import type { SchemaDialect } from '../../protocol/tool-schemas/dialects.ts';
import { type LooseSchema, looseSchema } from '../../protocol/tool-schemas/tool-schema.ts';
import { loweredLimitMessage } from '../http/answer-limit.ts';
import { EFFORTS, type Effort, type ImageDetail, type ProviderSettings, type RequestSettings } from './providers.ts';

/** Receives what of a request the server does not take, as a sentence. */
export type LeftOut = (message: string) => void;

/** A message of the conversation. */
type ChatMessage = JsonObject & { readonly role: string; readonly content?: unknown };

/** Servers refuse `tool_choice` without tools, so both are sent or neither. */
export function toolFields(request: ModelRequest, settings: ProviderSettings, leftOut: LeftOut): JsonObject {
  const { tools, parallelToolCalls } = request;
  if (tools.length === 0) return {};
  return {
    tools: tools.map((tool) => chatTool(tool, settings, leftOut)),
    tool_choice: choiceField(request, settings.maxToolName),
    parallel_tool_calls: parallelToolCalls,
  };
}

function choiceField({ toolChoice: choice, allowedTools: allowed }: ModelRequest, maxName: number): unknown {
  const named = (name: string) => ({ type: 'function', function: { name: shortName(name, maxName) } });
  if (typeof choice === 'object') return named(choice.name);
  if (!allowed || choice === 'none') return choice;
  if (allowed.length === 0) return 'none';
  return { type: 'allowed_tools', allowed_tools: { mode: choice ?? 'auto', tools: allowed.map(named) } };
}

function chatTool(tool: ToolDefinition, settings: ProviderSettings, leftOut: LeftOut): JsonObject {
  const { schema, lost } = schemaFor(tool, settings.toolSchemas);
  if (lost.length > 0)
    leftOut(
      `The model server does not take all of the schema of the tool '${tool.name}'; it is sent without ${lost.join(', ')}.`,
    );
  const description = shortText(tool.description, settings.maxToolDescription);
  if (description !== tool.description)
    leftOut(
      `The description of the tool '${tool.name}' is cut to the ${settings.maxToolDescription} characters that the model server takes.`,
    );
  return {
    type: 'function',
    function: {
      name: shortName(tool.name, settings.maxToolName),
      description,
      parameters: schema,
      // A schema of which something is lost need not be one that can be enforced.
      strict: lost.length > 0 ? undefined : tool.strict,
    },
  };
}

/** The schemas of the server's own tools are the same objects for every request. */
const loosened = new WeakMap<object, Map<SchemaDialect, LooseSchema>>();

function schemaFor({ parameters = {} }: ToolDefinition, dialect: SchemaDialect): LooseSchema {
  const known = loosened.get(parameters) ?? new Map<SchemaDialect, LooseSchema>();
  const earlier = known.get(dialect);
  if (earlier) return earlier;
  const loose = looseSchema(parameters, dialect);
  known.set(dialect, loose);
  loosened.set(parameters, known);
  return loose;
}

/** Cut between characters. */
function shortText(text: string | undefined, max: number): string | undefined {
  if (text === undefined || text.length <= max) return text;
  const cut = text.slice(0, Math.max(max - 1, 0));
  return `${/[\ud800-\udbff]$/.test(cut) ? cut.slice(0, -1) : cut}…`;
}

const DIGEST = 8;

/** The name of a tool for a server that takes no longer one; the same name always becomes the same. */
function shortName(name: string, max: number): string {
  return name.length <= max ? name : `${name.slice(0, max - DIGEST - 1)}_${hash('sha256', name).slice(0, DIGEST)}`;
}

/** The names of the request's tools by those that were sent for them; undefined if all of them are the same. */
export function shortenedNames({ tools }: ModelRequest, max: number): ReadonlyMap<string, string> | undefined {
  const long = tools.filter(({ name }) => name.length > max);
  return long.length === 0 ? undefined : new Map(long.map(({ name }) => [shortName(name, max), name]));
}

/** The settings for a model of which this is known. What the host has set for the whole server stays. */
export function withModelFacts(
  settings: ProviderSettings,
  { maxOutputTokens, efforts }: ModelFacts,
  host: { readonly maxOutputTokens?: unknown; readonly efforts?: unknown },
): ProviderSettings {
  const isLimited = maxOutputTokens !== undefined && host.maxOutputTokens === undefined;
  const isListed = efforts !== undefined && host.efforts === undefined;
  if (!isLimited && !isListed) return settings;
  return {
    ...settings,
    ...(isLimited ? { maxOutputTokens: { '*': maxOutputTokens } } : {}),
    ...(isListed ? { efforts: EFFORTS.filter((effort) => efforts.includes(effort)) } : {}),
  };
}

/** The limit of the answer, lowered to what the model takes. */
export function answerLimit(request: ModelRequest, settings: ProviderSettings, leftOut: LeftOut): number | undefined {
  const { model, maxOutputTokens: limit } = request;
  if (limit === undefined) return undefined;
  const [, most = limit] = Object.entries(settings.maxOutputTokens).find(([name]) => nameTest('', [name])(model)) ?? [];
  if (limit <= most) return limit;
  leftOut(loweredLimitMessage(limit, most));
  return most;
}

/** The effort, or the nearest one that the model takes; of two as near the lower one. Undefined if it takes none. */
export function nearestEffort(
  effort: string | undefined,
  efforts: readonly Effort[],
  leftOut: LeftOut,
): string | undefined {
  // The cast: another text is at no place.
  const place = EFFORTS.indexOf(effort as Effort);
  if (effort === undefined || place < 0 || efforts.some((each) => each === effort)) return effort;
  const distance = (each: Effort) => Math.abs(EFFORTS.indexOf(each) - place);
  const [nearest] = EFFORTS.filter((each) => efforts.includes(each)).toSorted(
    (one, other) => distance(one) - distance(other),
  );
  leftOut(
    `The model server does not take the reasoning effort '${effort}'; it is ${nearest ? `asked with '${nearest}'` : 'left out'}.`,
  );
  return nearest;
}

/** The details of images as the server knows them. */
export function withImageDetails(
  messages: readonly ChatMessage[],
  details: readonly ImageDetail[],
): readonly ChatMessage[] {
  const isKnown = (part: unknown) =>
    !isRecord(part) ||
    !isRecord(part.image_url) ||
    part.image_url.detail === undefined ||
    (details as readonly unknown[]).includes(part.image_url.detail);
  if (messages.every(({ content }) => !Array.isArray(content) || content.every(isKnown))) return messages;
  return messages.map((message) => {
    if (!Array.isArray(message.content)) return message;
    const content = message.content.map((part: JsonObject) => {
      if (isKnown(part) || !isRecord(part.image_url)) return part;
      const { detail, ...image } = part.image_url;
      const isHigh = detail === 'original' && details.includes('high');
      return { ...part, image_url: isHigh ? { ...image, detail: 'high' } : image };
    });
    return { ...message, content };
  });
}

/** Throws `unsupported_parameter` for a file that a server would have to fetch, but does not. */
export function refuseFileUrls(messages: readonly ChatMessage[]): void {
  const isUrl = (part: unknown) =>
    isRecord(part) && isRecord(part.file) && /^\s*https?:/i.test(plainText(part.file.file_data).slice(0, 100));
  if (!messages.some(({ content }) => Array.isArray(content) && content.some(isUrl))) return;
  const message = 'This server does not fetch files by their URL: send the content as file_data, or upload the file.';
  throw new ApiError('unsupported_parameter', message, { param: 'input' });
}

/** A text that asks for nothing new, and one that says nothing. */
const CONTINUE = 'Continue.';
const DONE = 'Done.';

/** The messages with the names of tools that the server takes, in the order and with the end that it takes. */
export function adaptMessages(messages: readonly ChatMessage[], settings: RequestSettings): readonly ChatMessage[] {
  const { lastMessage, maxToolName, afterToolResults, turns } = settings;
  const named = Number.isFinite(maxToolName)
    ? messages.map((message) => withShortNames(message, maxToolName))
    : messages;
  const answered = afterToolResults === 'assistant' ? named.flatMap(withAnswer) : named;
  const ordered = turns === 'alternate' ? mergeNeighbours(answered) : answered;
  const last = ordered.at(-1);
  if (lastMessage === 'any' || last?.role !== 'assistant') return ordered;
  if (lastMessage === 'prefix') return [...ordered.slice(0, -1), { ...last, prefix: true }];
  return [...ordered, { role: 'user', content: CONTINUE }];
}

/** The message, behind a short one of the assistant's if it follows the results of tools. */
function withAnswer(message: ChatMessage, index: number, messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const follows = messages[index - 1]?.role === 'tool' && message.role !== 'tool' && message.role !== 'assistant';
  return follows ? [{ role: 'assistant', content: DONE }, message] : [message];
}

/** Neighbours of one speaker as one message; calls and their results stay. */
function mergeNeighbours(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const turns: ChatMessage[][] = [];
  let last: ChatMessage | undefined;
  for (const message of messages) {
    const isSpeech = message.role === 'user' || (message.role === 'assistant' && !message.tool_calls);
    if (isSpeech && last?.role === message.role && !last.tool_calls) turns.at(-1)?.push(message);
    else turns.push([message]);
    last = message;
  }
  return turns.flatMap((turn) => {
    const contents = turn.map(({ content }) => content);
    const isText = contents.every((content) => typeof content === 'string');
    const parts = () => contents.flatMap((each) => (Array.isArray(each) ? each : [{ type: 'text', text: each }]));
    return turn.length === 1
      ? turn
      : [Object.assign({}, ...turn, { content: isText ? contents.join('\n\n') : parts() })];
  });
}

function withShortNames(message: ChatMessage, max: number): ChatMessage {
  const { tool_calls: calls } = message;
  if (!Array.isArray(calls)) return message;
  const isLong = ({ function: called }: JsonObject) => isRecord(called) && String(called.name).length > max;
  if (!calls.some(isLong)) return message;
  const short = (call: JsonObject) =>
    isRecord(call.function)
      ? { ...call, function: { ...call.function, name: shortName(String(call.function.name), max) } }
      : call;
  return { ...message, tool_calls: calls.map(short) };
}
