/** Repairs conversations that the model server would refuse, and reports to the host what was wrong. */
import express from 'express';
import { type Repair, validateMessages } from 'express-open-responses';
import { proxy } from './fetch-proxy.ts';

function onRepair(repairs: readonly Repair[], { requestId }: { readonly requestId: string }): void {
  for (const { param, code } of repairs) console.warn(`${requestId}: ${param} ${code}`);
}

const app = express();
app.post('/v1/chat/completions', validateMessages({ onRepair }), proxy);
app.post('/strict/chat/completions', validateMessages({ mode: 'reject' }), proxy);

export const server = app.listen(process.env.PORT ?? 3000);
