/** Models of the newest AI SDK and of the one before as model servers, by the types and the code of their own packages. */
import { createOpenAI } from '@ai-sdk/openai';
import { createOpenAI as createOpenAI4 } from 'ai-sdk-openai4';
import express from 'express';
import { functionTools, responsesRouter } from '../../../src/index.ts';
import { startFakeUpstream } from '../../../src/testing/index.ts';
import { type AiSdkModel, aiSdkUpstream } from '../../../src/upstreams/ai-sdk/ai-sdk-upstream.ts';
import { calling, says } from '../../apis/chat-completions/script.ts';
import { listening } from '../../support/listening.ts';

type Settings = { readonly baseURL: string; readonly apiKey: string };

it.each<[string, (settings: Settings) => AiSdkModel, string]>([
  ['of the newest major', (settings) => createOpenAI4(settings).chat('m'), 'v4'],
  ['of the major before', (settings) => createOpenAI(settings).chat('m'), 'v3'],
])('[E-06] a model %s answers, and calls a tool of the server', async (_, modelOf, version) => {
  const fake = await startFakeUpstream({
    reply: (request) => {
      const isAnswered = JSON.stringify(request.body).includes('"role":"tool"');
      return says(isAnswered ? { text: 'Sunny.' } : { calls: [calling('get_weather', { city: 'Bonn' })] })(request);
    },
  });
  const asked: unknown[] = [];
  const tools = functionTools({
    get_weather: {
      parameters: { type: 'object', properties: { city: { type: 'string' } } },
      execute: (args: unknown) => {
        asked.push(args);
        return 'Sunny.';
      },
    },
  });
  const model = modelOf({ baseURL: fake.baseURL, apiKey: 'k' });
  const app = await listening(
    express().use('/v1', responsesRouter({ upstream: aiSdkUpstream(model), tools, logger: false })),
  );
  try {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ model: 'm', input: 'How is the weather in Bonn?' });
    const answer = await fetch(`${app.url}/v1/responses`, { method: 'POST', headers, body });
    expect([model.specificationVersion, answer.status, asked]).toEqual([version, 200, [{ city: 'Bonn' }]]);
    expect(JSON.stringify(await answer.json())).toContain('"text":"Sunny."');
  } finally {
    await Promise.all([app.close(), fake.close()]);
  }
});
