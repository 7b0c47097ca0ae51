/** Puts the prompt that a request names into the request, with the client's variables. */
import type { EndpointRequest } from '../../../engine/request/endpoint-request.ts';
import type { Limits } from '../../../ports/limits.ts';
import type { Prompt, PromptsOf } from '../../../ports/prompts.ts';
import { ApiError } from '../../../protocol/errors.ts';
import { isId, quoteId, toPrintableId } from '../../../protocol/ids.ts';
import { lazily } from '../../../protocol/json/lazy-schema.ts';
import { isRecord, type JsonObject } from '../../../protocol/record.ts';
import { invalid } from '../../../protocol/responses/invalid.ts';

/** What resolving prompts needs of the host's options. */
export interface PromptSettings {
  readonly limits: Limits;
  /** Undefined if requests may name none. */
  readonly prompts?: PromptsOf | undefined;
}

/** More variables than any template has. */
const MAX_VARIABLES = 256;
const VARIABLE = /\{\{([\w.-]{1,64})\}\}/g;

type Variables = Readonly<Record<string, string | JsonObject>>;

const promptSchema = lazily((z) =>
  z.object({
    id: z.string().min(1),
    version: z.string().nullish(),
    variables: z
      .record(
        z.string(),
        z.union([z.string(), z.looseObject({ type: z.string() })], { error: 'a text, an image or a file' }),
      )
      .nullish(),
  }),
);

/**
 * The request, whose body names a prompt, with the prompt's fields, messages and instructions where it has none of its own. Throws `unsupported_parameter` if the host
 * has no prompts, `prompt_not_found`, and `missing_required_parameter` or `invalid_value` for the variables.
 */
export async function resolvePrompt(
  request: EndpointRequest,
  body: JsonObject,
  settings: PromptSettings,
): Promise<EndpointRequest> {
  const { prompts, limits } = settings;
  const { context } = request;
  if (!prompts) {
    const message = 'Prompt templates are not supported here; send the text itself.';
    throw new ApiError('unsupported_parameter', message, { param: 'prompt' });
  }
  const result = promptSchema().safeParse(body.prompt);
  if (!result.success) throw invalid(result.error.issues, body.prompt, ['prompt']);
  const { id, version, variables } = result.data;
  const find = () => (isId(id) ? prompts({ id, version: version ?? undefined }, request.request) : undefined);
  const prompt = context?.prompt ?? (await find());
  if (!prompt) {
    const which = typeof version === 'string' ? ` and version ${quoteId(version)}` : '';
    throw new ApiError('prompt_not_found', `Prompt with id ${quoteId(id)}${which} not found.`, { param: 'prompt' });
  }
  const { input, ...rest } = new Filling(variables ?? {}, limits.bodyBytes).fill(prompt);
  const filled = request.isSteering ? rest : { ...rest, input };
  const named = { id, version: prompt.version ?? version ?? null, variables: variables ?? null };
  return { ...request, body: { ...withPrompt(body, filled), prompt: named }, context: { ...context, prompt } };
}

function withPrompt(
  body: JsonObject,
  { instructions, input: messages = [], settings: promptSettings = {} }: Prompt,
): JsonObject {
  // How the answer reaches its client was decided before the prompt was looked up.
  const { stream: _, background: __, prompt: ___, ...settings } = promptSettings;
  const own = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== null));
  const ownInput = typeof own.input === 'string' ? [{ role: 'user', content: own.input }] : own.input;
  // A value that is no list is refused where the body is checked.
  const input = ownInput === undefined || Array.isArray(ownInput) ? [...messages, ...(ownInput ?? [])] : ownInput;
  return {
    ...settings,
    ...(instructions === undefined ? {} : { instructions }),
    ...own,
    ...(messages.length > 0 || ownInput === undefined ? { input } : {}),
  };
}

/** Fills one prompt. A value is never searched for variables itself: it is the client's text. */
class Filling {
  private readonly variables: Variables;
  private remainingLength: number;
  private readonly missing = new Set<string>();
  private readonly used = new Set<string>();

  constructor(variables: Variables, maxLength: number) {
    this.variables = variables;
    this.remainingLength = maxLength;
  }

  fill(prompt: Prompt): Prompt {
    if (Object.keys(this.variables).length > MAX_VARIABLES)
      throw variableError(
        'array_above_max_length',
        `Invalid 'prompt.variables': at most ${MAX_VARIABLES} are allowed.`,
      );
    const { instructions, input } = prompt;
    const filled = {
      ...prompt,
      ...(instructions === undefined ? {} : { instructions: this.text(instructions) }),
      ...(input === undefined ? {} : { input: input.map((message) => this.message(message)) }),
    };
    const unused = Object.keys(this.variables).filter((name) => !this.used.has(name));
    if (this.missing.size > 0) {
      throw variableError('missing_required_parameter', `Missing prompt variables: ${[...this.missing].join(', ')}.`);
    }
    if (unused.length > 0) {
      throw variableError('invalid_value', `Unknown prompt variables: ${toPrintableId(unused.join(', '))}.`);
    }
    return filled;
  }

  private message(message: JsonObject): JsonObject {
    const { content } = message;
    if (typeof content === 'string') {
      const part = this.part(content);
      return { ...message, content: part ? [part] : this.text(content) };
    }
    if (!Array.isArray(content)) return message;
    return {
      ...message,
      content: content.map((part) => {
        if (!isRecord(part) || typeof part.text !== 'string') return part;
        return this.part(part.text) ?? { ...part, text: this.text(part.text) };
      }),
    };
  }

  /** The image or the file that takes the place of the text; undefined if it is not one variable that holds one. */
  private part(text: string): JsonObject | undefined {
    const name = /^\{\{([\w.-]{1,64})\}\}$/.exec(text.trim())?.[1];
    const value = name === undefined ? undefined : this.useVariable(name);
    return isRecord(value) && value.type !== 'input_text' ? value : undefined;
  }

  private text(template: string): string {
    return template.replace(VARIABLE, (_, name: string) => {
      const value = this.useVariable(name);
      if (value === undefined) this.missing.add(name);
      const text = isRecord(value) ? value.text : (value ?? '');
      if (typeof text !== 'string') {
        throw variableError(
          'invalid_value',
          `Invalid 'prompt.variables': ${quoteId(name)} stands within a text, and is none.`,
        );
      }
      this.remainingLength -= text.length;
      if (this.remainingLength < 0)
        throw new ApiError('request_too_large', 'The request with its prompt is larger than this server takes.');
      return text;
    });
  }

  private useVariable(name: string): string | JsonObject | undefined {
    if (!Object.hasOwn(this.variables, name)) return undefined;
    this.used.add(name);
    return this.variables[name];
  }
}

function variableError(
  code: 'missing_required_parameter' | 'invalid_value' | 'array_above_max_length',
  message: string,
): ApiError {
  return new ApiError(code, message, { param: 'prompt.variables' });
}
