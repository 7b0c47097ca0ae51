/** Gemini on Vertex AI behind the Responses API, with settings of Google's own. */
import { createVertex } from '@ai-sdk/google-vertex';
import express from 'express';
import { responsesRouter } from 'express-open-responses';
import { aiSdkUpstream } from 'express-open-responses/upstreams/ai-sdk';

// The project, the location and the key come from the variables that the provider reads.
const { VERTEX_BASE_URL: baseURL } = process.env;
const vertex = createVertex(baseURL ? { baseURL } : {});
const upstream = aiSdkUpstream(vertex, {
  models: ['gemini-2.5-pro', 'gemini-2.5-flash'],
  providerOptions: { google: { thinkingConfig: { includeThoughts: true } } },
});

const app = express();
app.use('/v1', responsesRouter({ upstream }));

export const server = app.listen(process.env.PORT ?? 3000);
