/** The demo model's reply to a request: the same request always gets the same reply. */
import { type ChatMessage, type Conversation, readConversation } from './demo-conversation.ts';
import { sampleValue } from './sample-value.ts';

/** The fields of a chat request that the demo model understands. */
export interface ChatRequest {
  readonly model: string;
  readonly messages: readonly ChatMessage[];
  readonly stream?: boolean;
  readonly tools?: readonly ChatTool[];
  readonly tool_choice?: 'auto' | 'none' | 'required' | { readonly function: { readonly name: string } };
  readonly response_format?: { readonly type: string; readonly json_schema?: { readonly schema?: unknown } };
  readonly reasoning_effort?: string;
  readonly max_tokens?: number;
  readonly max_completion_tokens?: number;
}

/** A tool that the model may call. */
interface ChatTool {
  readonly function: { readonly name: string; readonly parameters?: unknown };
}

/** A reply, in words: one word is one token. */
export interface DemoReply {
  readonly reasoning: readonly string[];
  readonly text: readonly string[];
  readonly call: { readonly name: string; readonly arguments: string } | undefined;
  readonly finish: 'stop' | 'length' | 'tool_calls';
  readonly usage: Readonly<Record<string, unknown>>;
}

/** Splits a text into the pieces in which it is streamed. */
export function streamPieces(text: string): readonly string[] {
  return text.match(/\s{0,64}\S{1,12}|\s{1,64}/gu) ?? [];
}

/** The reply: a tool call if the request calls for one, else the requested JSON, else a sentence about the conversation. */
export function demoReply(request: ChatRequest): DemoReply {
  const conversation = readConversation(request.messages);
  const tool = toolToCall(request, conversation);
  const { prompt, outputs } = conversation;
  const effort = request.reasoning_effort;
  let reason = '';
  if (effort === undefined ? /\b(think|reason)\b/i.test(prompt) : effort !== 'none') {
    reason = `Words that the user wrote: ${splitWords(prompt).length}. I can answer at once.`;
    if (tool) reason = `The user wants the tool ${tool.function.name}, so I call it.`;
    else if (outputs.length > 0) reason = 'The tool has answered, so I can answer too.';
  }
  const thought = streamPieces(reason);
  if (tool) {
    const { name, parameters } = tool.function;
    // Quoted texts of the prompt become the arguments.
    const quotes = [...prompt.matchAll(/"([^"]+)"/g)].map(([, quoted = '']) => quoted);
    const json = JSON.stringify(sampleValue(parameters ?? { type: 'object' }, quotes));
    const usage = countUsage(conversation, thought, streamPieces(json));
    return { reasoning: thought, text: [], call: { name, arguments: json }, finish: 'tool_calls', usage };
  }

  const maxWords = request.max_completion_tokens ?? request.max_tokens ?? Number.POSITIVE_INFINITY;
  const reasoning = thought.slice(0, maxWords);
  const whole = streamPieces(requestedJson(request) ?? sentence(conversation));
  const text = whole.slice(0, maxWords - reasoning.length);
  const finish = reasoning.length + text.length < thought.length + whole.length ? 'length' : 'stop';
  return { reasoning, text, call: undefined, finish, usage: countUsage(conversation, reasoning, text) };
}

/** The tool that the request requires or the prompt mentions; none if the client has just answered a call. */
function toolToCall(
  { tools = [], tool_choice: choice }: ChatRequest,
  conversation: Conversation,
): ChatTool | undefined {
  if (choice === 'none' || conversation.outputs.length > 0) return undefined;
  if (typeof choice === 'object') return tools.find((tool) => tool.function.name === choice.function.name);
  const mentioned = tools.find((tool) => mentions(conversation.prompt, tool.function.name));
  if (mentioned) return mentioned;
  return choice === 'required' || /\bcall\b|\buse (the|a|your) tool\b/i.test(conversation.prompt)
    ? tools[0]
    : undefined;
}

/** Whether the prompt has every longer word of the name: "weather" for `get_weather`. */
function mentions(prompt: string, name: string): boolean {
  const words = new Set(splitWords(prompt));
  const longWords = splitWords(name).filter((word) => word.length >= 4);
  return longWords.length > 0 && longWords.every((word) => words.has(word));
}

function splitWords(text: string): readonly string[] {
  const spaced = text.replace(/([a-z])([A-Z])/g, '$1 $2');
  return spaced.toLowerCase().match(/[a-z0-9]+/g) ?? [];
}

/** The JSON that the request demands, if any. */
function requestedJson({ response_format: format }: ChatRequest): string | undefined {
  if (format?.type === 'json_schema') return JSON.stringify(sampleValue(format.json_schema?.schema ?? {}));
  return format?.type === 'json_object' ? '{"answer":"This is the demo model."}' : undefined;
}

function sentence({ prompt, earlier, images, outputs }: Conversation): string {
  const sentences = [
    outputs.length > 0 ? `The tool answered ${outputs.map(quote).join(' and ')}.` : 'Hello from the demo model.',
    images > 0 ? `I see ${images} ${images === 1 ? 'image' : 'images'}.` : '',
    prompt === '' ? '' : `You wrote ${quote(prompt)}`,
    earlier === '' ? '' : `Before that you wrote ${quote(earlier)}`,
  ];
  return sentences.filter(Boolean).join(' ');
}

const MAX_QUOTED_CHARACTERS = 300;

function quote(text: string): string {
  return `"${text.slice(0, MAX_QUOTED_CHARACTERS)}"`;
}

function countUsage(
  { words }: Conversation,
  reasoning: readonly string[],
  text: readonly string[],
): DemoReply['usage'] {
  const written = reasoning.length + text.length;
  return {
    prompt_tokens: words,
    completion_tokens: written,
    total_tokens: words + written,
    completion_tokens_details: { reasoning_tokens: reasoning.length },
  };
}
