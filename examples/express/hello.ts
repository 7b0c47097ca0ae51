/** The Responses API in an Express app, on the model server of OPENAI_BASE_URL. */
import express from 'express';
import { responsesRouter } from 'express-open-responses';

const app = express();
app.get('/health', (_req, res) => {
  res.send('ok');
});
app.use('/v1', responsesRouter());
app.listen(3000);
