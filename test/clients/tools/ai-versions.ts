/** The versions of the AI SDK that these tests run. */
import { createOpenAI } from '@ai-sdk/openai';
import * as ai6 from 'ai';
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai4';
import * as ai7 from 'ai7';

/** The casts: these tests call the same functions in both. */
export const aiVersions = [
  { version: 'ai 6 with @ai-sdk/openai 3', ai: ai6, create: createOpenAI },
  {
    version: 'ai 7 with @ai-sdk/openai 4',
    ai: ai7 as unknown as typeof ai6,
    create: createOpenAI4 as unknown as typeof createOpenAI,
  },
];
