/** Recognizes that a conversation exceeds the model's context: each model server has its own message, and none uses OpenAI's code. */

/** One message, and the servers that send it. */
interface OverflowWording {
  readonly servers: string;
  /** Words in a row that occur in the message, in lower case; numbers stand between them. */
  readonly words: readonly string[];
}

/** The code that clients handle: Codex compacts the conversation on this one and on no other. */
export const CONTEXT_OVERFLOW = 'context_length_exceeded';

/**
 * Words, not patterns, so that the longest message is read in one pass. None of them matches a rate limit, which
 * differs: a smaller conversation does not help there, and waiting does.
 */
export const OVERFLOW_WORDINGS: readonly OverflowWording[] = [
  { servers: 'OpenAI', words: ['exceeds the context window'] },
  { servers: 'OpenAI, vLLM, DeepSeek, Azure', words: ["this model's maximum context length is", 'tokens'] },
  { servers: 'OpenRouter', words: ["this endpoint's maximum context length is", 'tokens'] },
  { servers: 'vLLM', words: ['longer than the maximum model length of'] },
  { servers: 'vLLM', words: ["the model's context length is only", 'tokens'] },
  { servers: 'vLLM', words: ['exceeds model', 'maximum context length'] },
  { servers: 'SGLang', words: ["exceeds the model's maximum context length"] },
  { servers: 'SGLang, Together', words: ["is longer than the model's context length"] },
  { servers: 'SGLang', words: ['input length (', 'exceeds the maximum allowed length'] },
  { servers: 'llama.cpp', words: ['exceeds the available context size'] },
  { servers: 'llama.cpp', words: ['context size has been exceeded'] },
  { servers: 'llama-cpp-python', words: ['requested tokens', 'exceed context window of'] },
  {
    servers: 'LM Studio',
    words: ['the number of tokens to keep from the initial prompt is greater than the context length'],
  },
  { servers: 'LM Studio', words: ['trying to keep the first', 'tokens when context', 'overflows'] },
  { servers: 'LM Studio', words: ['reached context length of', 'tokens'] },
  { servers: 'Ollama', words: ['prompt too long; exceeded', 'context length'] },
  { servers: 'Ollama', words: ['input length exceeds', 'context length'] },
  { servers: 'TGI', words: ['`inputs` tokens + `max_new_tokens` must be <='] },
  { servers: 'TGI', words: ['`inputs` must have less than', 'tokens'] },
  { servers: 'Groq', words: ['please reduce the length of the messages'] },
  { servers: 'Mistral', words: ['prompt contains', 'tokens', 'too large for model with', 'maximum context length'] },
  { servers: 'Anthropic', words: ['prompt is too long'] },
  { servers: 'Anthropic', words: ['input length and', 'exceed context limit'] },
  { servers: 'Bedrock', words: ['input is too long for requested model'] },
  { servers: 'Bedrock', words: ['number of input tokens exceeds maximum length'] },
  { servers: 'Gemini', words: ['input token count', 'exceeds the maximum number of tokens allowed'] },
  { servers: 'xAI', words: ["this model's maximum prompt length is"] },
  { servers: 'Cohere', words: ['too many tokens: size limit exceeded'] },
  { servers: 'Cohere', words: ['total number of tokens in the prompt cannot exceed'] },
  { servers: 'Moonshot', words: ['exceeded model token limit'] },
  { servers: 'Moonshot', words: ['input length too long'] },
  { servers: 'MiniMax', words: ['context window exceeds limit'] },
  { servers: 'Alibaba', words: ['range of input length should be'] },
  { servers: 'Z.AI', words: ['prompt exceeds max length'] },
  { servers: 'Z.AI', words: ['prompt 超长'] },
  { servers: 'Volcengine', words: ['tokens of image and text exceed max message tokens'] },
  { servers: 'AI21', words: ['prompt tokens limit exceeded'] },
  { servers: 'Cloudflare', words: ['input and maximum output tokens', 'exceeded this model context window limit'] },
  { servers: 'Snowflake', words: ['max tokens of', 'exceeded'] },
  { servers: 'NVIDIA', words: ['tokens, but max supported context length is'] },
];

/** Types and codes that are sufficient by themselves: OpenAI's own, and those of llama.cpp, GitHub Copilot, GitHub Models and Z.AI (two). */
const OVERFLOW_CODES: ReadonlySet<unknown> = new Set([
  CONTEXT_OVERFLOW,
  'exceed_context_size_error',
  'model_max_prompt_tokens_exceeded',
  'tokens_limit_reached',
  'model_context_window_exceeded',
  '1261',
]);

/** Whether an error of this type, code and message reports it. */
export function isContextOverflow(type: unknown, code: unknown, message: string): boolean {
  if (OVERFLOW_CODES.has(code) || OVERFLOW_CODES.has(type)) return true;
  const text = message.toLowerCase().replaceAll('’', "'");
  return OVERFLOW_WORDINGS.some(({ words }) => occurInOrder(words, text)) || hasOverflowShape(text.slice(0, MAX_SHAPE));
}

/** Maximum characters in which the shape is searched. */
const MAX_SHAPE = 2048;
/** Smaller numbers are those of other limits. */
const MIN_TOKENS = 256;
const SUBJECT = /\b(?:prompt|input|context|conversation|messages?)\b/;
const UNIT = /\btokens?\b|\b(?:input|prompt|context) length\b/;
const EXCESS =
  /\bexceed(?:s|ed|ing)?\b|\bonly supports?\b|\blonger than\b|\blarger than\b|\bgreater than\b|\btoo (?:long|large|many)\b/;
/** Rates, the answer's own limit, and what else is counted in tokens. */
const OTHER_LIMIT =
  /\b(?:per (?:minute|hour|day|second|request)|tpm|tpd|rpm|rate|quota|credits?|balance|budget(?:_tokens)?|max_(?:completion_|output_|new_)?tokens|(?:output|completion) tokens|batch|images?|pixels?|bytes?|files?|embeddings?)\b/;

/** A number of tokens of the input against a lower limit, whatever the words are. */
function hasOverflowShape(text: string): boolean {
  if (!SUBJECT.test(text) || !UNIT.test(text) || !EXCESS.test(text) || OTHER_LIMIT.test(text)) return false;
  const numbers = [...text.matchAll(/\d+(?:[,_]\d{3})*/g)].map(([number]) => Number(number.replaceAll(/[,_]/g, '')));
  const [count = 0, limit = 0] = numbers.filter((number) => number >= MIN_TOKENS);
  return count > limit && limit > 0;
}

/** Whether all of the words occur in the text, in this order. */
function occurInOrder(words: readonly string[], text: string): boolean {
  let from = 0;
  for (const each of words) {
    const at = text.indexOf(each, from);
    if (at < 0) return false;
    from = at + each.length;
  }
  return true;
}
