/** This package in Express over the store that the second argument names, with its round trips counted. */
import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import express from 'express';
import { chatCompletionsUpstream, responsesRouter } from 'express-open-responses';
import { Pool } from 'undici';
import { openers } from '../stores/openers.mjs';
import { serve } from './serve.mjs';

const [, , upstreamPort, name] = process.argv;
const SCOPE = 'bench';
const MODEL = 'messages';
let trips = 0;
const opened = await openers[name](() => {
  trips += 1;
}).catch((error) => {
  // The run continues without this store.
  process.send({ error: error.message }, () => process.exit(0));
  return new Promise(() => {});
});
const pool = new Pool(`http://127.0.0.1:${upstreamPort}`);

/** The least work of any server, so many times: the times in milliseconds. */
async function floors({ previous, most, samples }) {
  const times = [];
  while (times.length < samples) times.push(await floor(previous, most));
  return { times };
}

/** Reads the history, writes it as a request and reads the model's answer: with loops, which are fastest. */
async function floor(previous, most) {
  const began = performance.now();
  const chain = previous ? await opened.store.chain({ scope: SCOPE, id: previous }, most) : [];
  const messages = [];
  for (const { input, output } of chain.toReversed()) {
    for (const item of input) messages.push(messageOf(item));
    for (const item of output) messages.push(messageOf(item));
  }
  messages.push({ role: 'user', content: 'Hi' });
  const body = JSON.stringify({ model: MODEL, stream: true, messages });
  const headers = { 'content-type': 'application/json' };
  const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body });
  await answer.body.text();
  return performance.now() - began;
}

/** Makes a conversation of so many turns like the first, whose id is given, faster than a client could. */
async function grow({ first, turns }) {
  const text = JSON.stringify(await opened.store.get({ scope: SCOPE, id: first }));
  const seed = first.split('_')[1];
  const ids = [first];
  while (ids.length < turns) {
    const stored = JSON.parse(text.replaceAll(seed, randomBytes(seed.length / 2).toString('hex')));
    await opened.store.put({ ...stored, previousId: ids.at(-1) });
    ids.push(stored.id);
  }
  return { ids };
}

function messageOf({ role, content }) {
  return { role, content: typeof content === 'string' ? content : content.map(({ text }) => text).join('') };
}

await serve(
  (port) => {
    const upstream = chatCompletionsUpstream({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'bench', retries: 0 });
    const router = responsesRouter({ upstream, store: opened.store, scope: () => SCOPE });
    return createServer(express().use('/v1', router));
  },
  { floors, grow, trips: async () => ({ trips }), close: async () => ({ closed: await opened.close() }) },
);
