/** Images that models ask for: a tool over any server that makes images as OpenAI's does. */

export { type ImageGenerationOptions, imageGeneration } from './image-generation.ts';
