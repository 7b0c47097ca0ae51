/** An image: one that the model or its own server made, or one that this server made because the model called a tool. */
import { IMAGE_MADE, imageResult } from '../images.ts';
import type { ImageGenerationCallItem } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { plainTextOf } from '../record.ts';
import type { WrittenToolCallKind } from './kind.ts';
import { IMAGE_GENERATION } from './tool-names.ts';

/** `image_generation_call` */
export const imageGenerationCall: WrittenToolCallKind & { readonly type: 'image_generation_call' } = {
  type: 'image_generation_call',
  tool: IMAGE_GENERATION,
  idPrefix: 'ig',
  runBy: 'server',
  mayRunUpstream: true,
  field: 'arguments',
  // A failed call has no event of its own: its item has the status.
  states: { opened: 'in_progress', running: 'generating', completed: 'completed' },
  shown: (item, { has, isPage }) => (isPage && !has('result') ? { ...item, result: null } : item),
  item: ({ id }, status) => itemOf(id, status === 'in_progress' ? status : 'failed'),
  finished: (call, { failed, image }) => ({
    ...itemOf(call.id, image && !failed ? 'completed' : 'failed'),
    ...(image && !failed ? { result: image.result, ...image.details } : {}),
    revised_prompt: image?.details.revised_prompt ?? plainTextOf(objectIn(call.arguments)?.prompt),
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
  lacksResult: ({ result }) => !result,
  modelName: (_, names) => names.serving(IMAGE_GENERATION),
};

function itemOf(id: string, status: ImageGenerationCallItem['status']): ImageGenerationCallItem {
  return { id, type: 'image_generation_call', status, result: null };
}
