/** An agent, such as one of Mastra's, as a model of the Responses API: its tools and its memory are its own business. */
import express from 'express';
import { responsesRouter } from 'express-open-responses';
import { type AiSdkModel, aiSdkUpstream } from 'express-open-responses/upstreams/ai-sdk';

/** What an agent has: `new Agent({ … })` of `@mastra/core/agent` fits. */
interface Agent {
  readonly name: string;
  stream(messages: unknown, options: object): Promise<{ readonly textStream: AsyncIterable<string> }>;
}

/** The agent as a language model of the AI SDK: text in, text out. */
function modelOf(agent: Agent): AiSdkModel {
  return {
    specificationVersion: 'v4',
    provider: 'agent',
    modelId: agent.name,
    async doStream({ prompt, abortSignal }: { readonly prompt: unknown; readonly abortSignal: AbortSignal }) {
      const { textStream } = await agent.stream(prompt, { abortSignal });
      const stream = new ReadableStream<object>({
        async start(parts) {
          for await (const delta of textStream) parts.enqueue({ type: 'text-delta', id: '0', delta });
          parts.enqueue({ type: 'finish', finishReason: { unified: 'stop', raw: 'stop' }, usage: {} });
          parts.close();
        },
      });
      return { stream };
    },
  };
}

const echo: Agent = {
  name: 'echo',
  async stream(messages) {
    const said = JSON.stringify(messages).match(/"text":"([^"]*)"/)?.[1] ?? '';
    async function* words() {
      yield 'You said: ';
      yield said;
    }
    return { textStream: words() };
  },
};

const app = express();
app.use('/v1', responsesRouter({ upstream: aiSdkUpstream(modelOf(echo)) }));

export const server = app.listen(process.env.PORT ?? 3000);
