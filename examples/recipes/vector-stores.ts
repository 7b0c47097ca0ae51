/** Files that clients and models search, by meaning and by words. */
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { diskFiles, filesRouter } from 'express-open-responses/files';
import {
  createVectorStores,
  fileSearch,
  memoryVectors,
  vectorStoresRouter,
} from 'express-open-responses/vector-stores';

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

const app = express();
app.use('/v1', filesRouter({ files, vectorStores }), vectorStoresRouter({ vectorStores }));
app.use('/v1', responsesRouter({ upstream, files, tools: fileSearch({ vectorStores }) }));

export const server = app.listen(process.env.PORT ?? 3000);
server.on('close', () => vectorStores.close());
