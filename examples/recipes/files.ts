/** Files that clients upload once and name by their id, kept in a folder. */
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { diskFiles, filesRouter } from 'express-open-responses/files';

const files = diskFiles({ folder: process.env.FILES_FOLDER ?? 'files' });
const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1' });

const app = express();
app.use('/v1', filesRouter({ files, quota: { fileBytes: 20_000_000, tenantBytes: 200_000_000 } }));
app.use('/v1', responsesRouter({ upstream, files }));

export const server = app.listen(process.env.PORT ?? 3000);
