/** An app in a process of its own, since Node reads NODE_DEBUG when it starts. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { chatCompletionsUpstream, functionTools, responsesRouter } from '../../src/index.ts';

const upstream = chatCompletionsUpstream({ baseURL: process.env.UPSTREAM_URL, apiKey: 'secret-upstream-key' });
const tools = functionTools({ get_time: { description: 'The time.', execute: () => 'secret-result' } });
const router = responsesRouter({ upstream, tools });

const server = express().use('/v1', router).listen(0, '127.0.0.1');
await once(server, 'listening');
// The cast: a server that listens on TCP has an address.
process.send?.(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
