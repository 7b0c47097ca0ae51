/** Files that clients and models search, by meaning and by words. */
import express from 'express';
import { chatCompletionsUpstream, openResponses } from 'express-open-responses';
import { diskFiles, filesApi } from 'express-open-responses/files';
import { createVectorStores, fileSearch, memoryVectors } from 'express-open-responses/vector-stores';

const files = diskFiles({ folder: process.env.FILES_FOLDER ?? 'files' });
const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });
const vectorStores = createVectorStores({
  files,
  // Lost when the process ends; sqliteVectors and postgresVectors keep it.
  index: memoryVectors(),
  embeddings: {
    baseURL: process.env.EMBEDDINGS_BASE_URL ?? 'http://localhost:8080/v1',
    model: process.env.EMBEDDINGS_MODEL ?? 'bge-m3',
  },
});

const tools = fileSearch({ vectorStores });
const api = openResponses({ upstream, tools, apis: [filesApi({ files }), vectorStores.api] });

export const server = express()
  .use('/v1', api.router)
  .listen(process.env.PORT ?? 3000);
server.on('close', () => api.close());
