/** An image: one that the model or its own server made, or one that this server made because the model called a tool. */
import { dataURL } from '../images.ts';
import type { Item, ToolOutput } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { lazily } from '../json/lazy-schema.ts';
import { fields, kinds } from '../json/schema-kinds.ts';
import { type JsonObject, plainText } from '../record.ts';
import type { WrittenToolCallKind } from './kind.ts';

/** The model's name for the tool that makes its images, and the type by which requests enable it. */
export const IMAGE_GENERATION = 'image_generation';

/** `image_generation_call` */
export const imageGenerationCall: WrittenToolCallKind & { readonly type: 'image_generation_call' } = {
  type: 'image_generation_call',
  tool: IMAGE_GENERATION,
  toolSchema: lazily((z) => {
    const { optionalText } = kinds();
    return z.object({
      action: optionalText,
      background: optionalText,
      input_fidelity: optionalText,
      input_image_mask: fields().nullish(),
      model: optionalText,
      moderation: optionalText,
      output_compression: z.number().int().min(0).max(100).nullish(),
      output_format: optionalText,
      partial_images: z.number().int().min(0).max(3).nullish(),
      quality: optionalText,
      size: optionalText,
    });
  }),
  keptTerms: [],
  idPrefix: 'ig',
  runBy: 'server',
  mayRunUpstream: true,
  field: 'arguments',
  // A failed call has no event of its own: its item has the status.
  states: { opened: 'in_progress', running: 'generating', completed: 'completed' },
  shown: (item, { has, isPage }) => (isPage && !has('result') ? { ...item, result: null } : item),
  item: ({ id }, status) => ({
    id,
    type: 'image_generation_call',
    status: status === 'in_progress' ? status : 'failed',
    result: null,
  }),
  finished: (call, { failed, image }) => ({
    id: call.id,
    type: 'image_generation_call',
    status: image && !failed ? 'completed' : 'failed',
    result: null,
    ...(image && !failed ? { result: image.result, ...image.details } : {}),
    revised_prompt: image?.details.revised_prompt ?? plainText(objectIn(call.arguments)?.prompt),
  }),
  answered(item) {
    const { name, call_id: id, status, output, revised_prompt: prompt } = item;
    // Without a name nothing can be called, and without a prompt nothing was: the model made such an image itself.
    if (typeof name !== 'string' || typeof prompt !== 'string') return undefined;
    const result = output ?? imageResult(item);
    return {
      id: id ?? undefined,
      name,
      arguments: JSON.stringify({ prompt }),
      output: result,
      failed: status === 'failed',
    };
  },
  outputWithoutImages: ({ result }) => (result ? IMAGE_MADE : undefined),
  hasResult: ({ result, status }) => Boolean(result) || status === 'failed',
  lacksResult: ({ result }) => !result,
  modelName: (_, names) => names.serving(IMAGE_GENERATION),
};

/** The text before the image: the image is sent as the user's, since no API accepts it as the assistant's own. */
const INTRODUCTION = '[The assistant made this image:]';

/** The item's image in base64, and its format if that is known; undefined for an item without one. */
export function itemImage({ type, result, output_format: format }: JsonObject) {
  if (type !== imageGenerationCall.type || typeof result !== 'string' || result === '') return undefined;
  return { result, format };
}

/** The image as a message that every model accepts; undefined for an item without one. */
export function imageMessage(item: Item): Item | undefined {
  const image = itemImage(item);
  if (!image) return undefined;
  const content = [
    { type: 'input_text', text: INTRODUCTION },
    { type: 'input_image', image_url: dataURL(image.result, image.format) },
  ];
  return { type: 'message', role: 'user', content };
}

/** What the model receives in place of an image that a tool made. */
export const IMAGE_MADE = 'The image was made and shown to the user.';
const NO_IMAGE = 'No image was made.';

/** The result of the tool call that made the item's image: a text, and the image itself. */
export function imageResult({ result, output_format: format }: JsonObject, text = IMAGE_MADE): ToolOutput {
  if (typeof result !== 'string' || result === '') return NO_IMAGE;
  return [
    { type: 'input_text', text },
    { type: 'input_image', image_url: dataURL(result, format), detail: 'auto' },
  ];
}
