/** An image that the model or its own server made: shown, not run. */
import type { ToolCallKind } from './kind.ts';

/** `image_generation_call` */
export const imageGenerationCall: ToolCallKind & { readonly type: 'image_generation_call' } = {
  type: 'image_generation_call',
  idPrefix: 'ig',
  runBy: 'upstream',
};
