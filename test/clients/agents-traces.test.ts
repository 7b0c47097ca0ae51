/** The exporters of OpenAI's agents SDKs, which send to this server what they send to OpenAI otherwise. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import express from 'express';
import { openResponses } from '../../src/index.ts';
import { createInspector } from '../../src/observe/inspector/index.ts';
import { startFakeUpstream, textStream, toolCallStream } from '../../src/testing/index.ts';
import { type AgentSpan, tracesApi } from '../../src/traces.ts';
import { chatCompletionsUpstream } from '../../src/upstreams/chat-completions/chat-completions-upstream.ts';
import { listening } from '../support/listening.ts';
import { PATIENCE_MS } from '../support/patience.ts';
import { pythonPackage } from '../support/python-package.ts';

const python = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });
const run = promisify(execFile);

/** The lines of the trace beside the first response: what each step is, and whether it is one of its responses. */
async function traced(program: string, script: string, more: Readonly<Record<string, string>> = {}) {
  const fake = await startFakeUpstream();
  fake.reply(
    ({ body }) => answer(body, { body: toolCallStream([{ id: 'call_1', name: 'look', arguments: '{}' }]) }),
    ({ body }) => answer(body, { body: textStream('A tree.') }),
  );
  const inspector = createInspector({ behindAuth: true });
  const spans: AgentSpan[] = [];
  const receivers = [
    inspector,
    { receiveTraces: (batch: { readonly spans: readonly AgentSpan[] }) => void spans.push(...batch.spans) },
  ];
  const upstream = chatCompletionsUpstream({ baseURL: fake.baseURL, apiKey: 'none' });
  const api = openResponses({ upstream, inspector, apis: [tracesApi({ receivers })], logger: false });
  const { url, close } = await listening(express().use('/v1', api.router).use('/inspect', inspector.router));
  const env = { PATH: process.env.PATH, BASE_URL: `${url}/v1`, API_KEY: 'client-key', ...more };
  const { stdout, stderr } = await run(program, [join(import.meta.dirname, script)], { env, timeout: PATIENCE_MS });
  const response = await fetch(`${url}/inspect/api/traces?response=1`);
  const { traces } = JSON.parse(await response.text());
  await Promise.all([close(), api.close(), fake.close()]);
  return { output: JSON.parse(stdout), stderr, traces, spans };
}

/** A stream if the client has asked for one; the model server is asked for one in any case but that of chat completions. */
function answer(body: unknown, stream: { readonly body: string }) {
  if (Object(body).stream === true) return stream;
  const chunks = [...stream.body.matchAll(/^data: (\{.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data).choices[0]?.delta ?? {},
  );
  const message = Object.assign({ role: 'assistant', content: null }, ...chunks);
  const choice = { index: 0, message, finish_reason: message.tool_calls ? 'tool_calls' : 'stop' };
  return {
    body: JSON.stringify({
      id: `chatcmpl-${Math.random()}`,
      object: 'chat.completion',
      created: 1,
      model: 'fake-model',
      choices: [choice],
    }),
  };
}

function steps(
  traces: readonly {
    readonly name: string;
    readonly spans: readonly { readonly type: string; readonly response: number | null }[];
  }[],
) {
  return traces.map(({ name, spans }) => [name, spans.map(({ type, response }) => `${type} ${response ?? '-'}`)]);
}

describe('the exporter of the agents SDK', () => {
  it(
    '[E-17] of JavaScript puts a run beside its responses',
    async () => {
      const { output, stderr, traces, spans } = await traced(process.execPath, 'agents-traces.mjs');
      expect([output, stderr]).toEqual(['A tree.', '']);
      const [[name, types] = ['', []]] = steps(traces);
      expect([
        name,
        types?.includes('response 1'),
        types?.includes('response 2'),
        types?.includes('function -'),
      ]).toEqual([...['Looking', true, true, true]]);
      expect(spans.every(({ startedAt, endedAt }) => startedAt > 1e12 && endedAt >= startedAt)).toBe(true);
    },
    PATIENCE_MS,
  );

  it(
    '[E-17] of JavaScript puts a run over Chat Completions beside its completions',
    async () => {
      const { output, traces } = await traced(process.execPath, 'agents-traces.mjs', { USE_CHAT: '1' });
      const [[, types] = ['', []]] = steps(traces);
      expect([output, types?.includes('generation 1')]).toEqual(['A tree.', true]);
    },
    PATIENCE_MS,
  );

  python.it(
    '[E-17] of Python puts a run beside its responses',
    async () => {
      const { output, stderr, traces } = await traced(python.python, 'agents_traces.py');
      expect([output, stderr]).toEqual(['A tree.', '']);
      const [[name, types] = ['', []]] = steps(traces);
      expect([
        name,
        types?.includes('response 1'),
        types?.includes('response 2'),
        types?.includes('function -'),
      ]).toEqual([...['Looking', true, true, true]]);
    },
    PATIENCE_MS,
  );
});
