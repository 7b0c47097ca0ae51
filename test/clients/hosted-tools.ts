/** What the tests of hosted tools have in common: the SDKs that they use, and what the model received. */
import { createOpenAI } from '@ai-sdk/openai';
import type { Agent, Runner } from '@openai/agents';
import * as ai from 'ai';
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai4';
import * as ai7 from 'ai7';
import OpenAI from 'openai';
import OpenAI7 from 'openai7';
import { chatBody, type ToolsApp, toolTexts } from '../engine/tools/support.ts';

// It prints what it sends again.
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false });

/** The versions of openai-node. The cast: what the tests call is the same in both. */
export const openaiVersions = [
  ['openai-node 6', OpenAI],
  ['openai-node 7', OpenAI7 as unknown as typeof OpenAI],
] as const;

/** The versions of Vercel's SDK. The casts: what the tests call is the same in both. */
export const vercelVersions = [
  ['@ai-sdk/openai 3', createOpenAI, ai],
  ['@ai-sdk/openai 4', createOpenAI4 as unknown as typeof createOpenAI, ai7 as unknown as typeof ai],
] as const;

/** The results of its calls in the last request to the model. */
export function lastSent({ fake }: ToolsApp): readonly unknown[] {
  const [last] = fake.requests.slice(-1).map(chatBody);
  return Object.values(toolTexts(last ?? { messages: [] }));
}

/** The result of a run of OpenAI's agents SDK. */
export async function ended(runner: Runner, agent: Agent, input: Parameters<typeof runner.run>[1], stream: boolean) {
  if (!stream) return runner.run(agent, input);
  const result = await runner.run(agent, input, { stream: true });
  // The run goes on as its events are read.
  for await (const _ of result);
  await result.completed;
  return result;
}

/** The types of the parts of a stream of Vercel's SDK; throws the first error. */
export async function partTypes(stream: AsyncIterable<ai.TextStreamPart<ai.ToolSet>>): Promise<readonly string[]> {
  const types: string[] = [];
  for await (const part of stream) {
    if (part.type === 'error') throw part.error;
    types.push(part.type);
  }
  return types;
}
