/** Tools of the host, and a check of what clients send, in a Connect app. */
import connect from 'connect';
import { functionTools, runTools, validateMessages } from 'express-open-responses';
import { proxy } from './fetch-proxy.ts';

const tools = functionTools({ time: { description: 'The time.', execute: () => new Date().toISOString() } });

const app = connect();
app.use('/v1/chat/completions', validateMessages());
app.use('/v1/chat/completions', runTools({ tools, handler: proxy }));

export const server = app.listen(process.env.PORT ?? 3000);
