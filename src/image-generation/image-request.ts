/** What the server of images is asked for: what the model wants, within what the request says. */
import { type JsonObject, plainTextOf } from '../protocol/record.ts';

/** The fields that the request's tool and OpenAI's images API have in common. */
const SHARED = ['quality', 'background', 'output_format', 'output_compression', 'moderation', 'partial_images'];
/** OpenAI's own models answer in base64 alone, and refuse to be asked for it; others answer with a URL by default. */
const ANSWERS_IN_BASE64 = /^(?:[^\0]*\/)?(?:chatgpt|gpt)-image/;

/**
 * The body for `/images/generations`. The request's own settings win over the model's; what it leaves out, or leaves to
 * the server by `auto`, is not sent, since many servers know none of it.
 */
export function imageRequest(args: JsonObject, settings: JsonObject, ownModel: string | undefined): JsonObject {
  const model = ownModel ?? (settings.model || undefined);
  const shared = SHARED.flatMap((name) => (isSet(settings[name]) ? [[name, settings[name]] as const] : []));
  const size = [settings.size, args.size].find(isSet);
  return {
    ...(model === undefined ? {} : { model }),
    prompt: args.prompt,
    ...(size === undefined ? {} : { size }),
    ...Object.fromEntries(shared),
    ...(ANSWERS_IN_BASE64.test(plainTextOf(model)) ? {} : { response_format: 'b64_json' }),
    ...(Number(settings.partial_images) > 0 ? { stream: true } : {}),
  };
}

/** No partial images are what every server makes. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== 'auto' && value !== '' && value !== 0;
}
