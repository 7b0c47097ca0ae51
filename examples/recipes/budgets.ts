/** A budget for each key: requests and tokens a minute, and dollars a day, in a router and in front of a proxy. */
import express, { type RequestHandler } from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { tokenBudget } from 'express-open-responses/budgets';

const baseURL = process.env.UPSTREAM_BASE_URL ?? 'http://localhost:8000/v1';
const minute = 60;
const day = 24 * 60 * minute;
/** Dollars for a million tokens. */
const prices: Readonly<Record<string, { readonly input: number; readonly output: number }>> = {
  'my-model': { input: 0.5, output: 2 },
};

const budget = tokenBudget({
  limits: {
    requests: { points: Number(process.env.REQUESTS_PER_MINUTE ?? 60), duration: minute },
    tokens: { points: Number(process.env.TOKENS_PER_MINUTE ?? 100_000), duration: minute },
    cost: { dollars: 5, duration: day },
  },
  cost({ model, usage }) {
    const { input, output } = prices[model] ?? { input: 0, output: 0 };
    return (usage.input_tokens * input + usage.output_tokens * output) / 1_000_000;
  },
});

/** A proxy without any code for budgets. */
const proxy: RequestHandler = async (req, res) => {
  const headers = { 'content-type': 'application/json', authorization: req.get('authorization') ?? '' };
  const answer = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify(req.body),
  });
  res.status(answer.status).type(answer.headers.get('content-type') ?? 'application/json');
  for await (const bytes of answer.body ?? []) res.write(bytes);
  res.end();
};

const app = express();
app.post('/llm', express.json({ limit: '10mb' }), budget, proxy);
app.use('/v1', responsesRouter({ upstream: chatCompletionsUpstream({ baseURL }), budget }));

export const server = app.listen(process.env.PORT ?? 3000);
