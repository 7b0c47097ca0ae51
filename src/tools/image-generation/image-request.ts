/** The request to the image server: the model's arguments, within the settings of the client's request. */

import type { FormData } from 'undici';
import type { ToolCall } from '../../ports/tool-provider.ts';
import { imageInURL } from '../../protocol/images.ts';
import type { GeneratedImage } from '../../protocol/items.ts';
import { undici } from '../../protocol/json/packages.cjs';
import { isRecord, type JsonObject, plainText } from '../../protocol/record.ts';
import { ImageFailure } from './image-failure.ts';

/** One request. */
export interface ImageRequest {
  /** What is wanted, by the names of OpenAI's images API. */
  readonly fields: JsonObject;
  /** The image to change, and what of it may change; undefined for a new image. */
  readonly edited?: { readonly image: GeneratedImage; readonly mask: GeneratedImage | undefined } | undefined;
}

/** The host's part in it. */
interface RequestTerms {
  readonly model: string | undefined;
  readonly edits: boolean;
}

/** The fields that the request's tool and OpenAI's images API have in common. */
const SHARED = ['quality', 'background', 'output_format', 'output_compression', 'partial_images'];
/** OpenAI's own models always answer in base64, and refuse the parameter for it; others answer with a URL by default. */
const ANSWERS_IN_BASE64 = /(?:^|\/)(?:chatgpt|gpt)-image/;

/**
 * The request for a call. The request's own settings win over the model's; what it leaves out, or leaves to the server
 * by `auto`, is not sent, since many servers know none of it. Throws `ImageFailure` where there is no image to change.
 */
export function imageRequest(
  { arguments: args, settings = {}, images }: Pick<ToolCall, 'arguments' | 'settings' | 'images'>,
  { model: ownModel, edits }: RequestTerms,
): ImageRequest {
  // The request decides whether this is an edit, else the model.
  const { action, input_image_mask: maskSetting } = settings;
  if (action === 'edit' && !edits) throw new ImageFailure('Images cannot be changed here.');
  let edited: ImageRequest['edited'];
  if (edits && action !== 'generate' && (action === 'edit' || args.edit === true)) {
    const image = imageInURL(images?.().at(-1) ?? '');
    if (!image) throw new ImageFailure('The conversation has no image that could be changed.');
    const mask = isRecord(maskSetting) ? imageInURL(plainText(maskSetting.image_url)) : undefined;
    if (isRecord(maskSetting) && !mask) throw new ImageFailure('The mask must be a data URL of an image.');
    edited = { image, mask };
  }
  const model = ownModel ?? (settings.model || undefined);
  const size = [settings.size, args.size].find(isSet);
  const names = [...SHARED, edited ? 'input_fidelity' : 'moderation'];
  const fields = {
    ...(model === undefined ? {} : { model }),
    prompt: args.prompt,
    ...(size === undefined ? {} : { size }),
    ...Object.fromEntries(names.flatMap((name) => (isSet(settings[name]) ? [[name, settings[name]]] : []))),
    ...(ANSWERS_IN_BASE64.test(plainText(model)) ? {} : { response_format: 'b64_json' }),
    ...(Number(settings.partial_images) > 0 ? { stream: true } : {}),
  };
  return { fields, edited };
}

/** Every server can answer without partial images. */
function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== 'auto' && value !== '' && value !== 0;
}

/** The request as a form with files. */
export function toForm({ fields, edited }: ImageRequest): FormData {
  const form = new (undici().FormData)();
  for (const [name, value] of Object.entries(fields)) form.append(name, plainText(value));
  if (edited) form.append('image', imageBlob(edited.image), `image.${edited.image.details.output_format}`);
  if (edited?.mask) form.append('mask', imageBlob(edited.mask), `mask.${edited.mask.details.output_format}`);
  return form;
}

function imageBlob({ result, details }: GeneratedImage): Blob {
  return new Blob([Buffer.from(result, 'base64')], { type: `image/${details.output_format}` });
}
