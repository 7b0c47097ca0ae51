/** OpenAI's own clients of the beta of several agents: the agents SDK's experimental model, and the SDK's beta resource. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai7';
import { ResponsesWS } from 'openai7/resources/beta/responses/ws';
import { call, lastSaid, type Script, withAgents } from '../multi-agent/app.ts';
import { pythonPackage } from '../support/python-package.ts';
import { type PythonClient, startPythonClient } from './python-client.ts';

const python = await pythonPackage('openai-agents', '0.24.0', { imported: 'agents', along: ['openai==3.54.0'] });

const ROOT = '/root';
const CHILD = '/root/asker';

const asking: Script = ({ messages }) => {
  const result = messages.findLast(({ role }) => role === 'tool');
  return result ? { text: `The answer: ${result.content}` } : call('ask', { what: 'it' });
};

/** Begins an agent for each message of the user's, and waits for it. */
const delegating: Script = (asked, round) => {
  const said = lastSaid(asked);
  if (said.startsWith('Message to /root from')) return { text: said.slice(said.indexOf('\n') + 1) };
  if (said.startsWith('{"task_name"')) return call('wait_agent', {}, `wait_${round}`);
  return call('spawn_agent', { task_name: 'asker', message: 'Ask.', fork_turns: 'none' }, `spawn_${round}`);
};

const ASK = {
  type: 'function' as const,
  name: 'ask',
  parameters: { type: 'object', properties: { what: { type: 'string' } } },
  strict: false,
};

describe('OpenAI’s clients of several agents', () => {
  it('[E-13] runs in the agents SDK, whose own tools answer the calls of all agents', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, async (app) => {
      const script = join(import.meta.dirname, 'hosted-multi-agent.mjs');
      const { stdout } = await promisify(execFile)(process.execPath, ['--experimental-websocket', script], {
        env: { ...process.env, BASE_URL: app.url },
        timeout: 30_000,
      });
      const answer = 'The answer: it is blue';
      const { asked, ...texts } = JSON.parse(stdout) as { asked: readonly (readonly [string, string])[] };
      expect(texts).toEqual({ whole: answer, streamed: answer, text: answer });
      expect(asked).toEqual([
        ['it', CHILD],
        ['it', CHILD],
      ]);
    });
  });

  it('[E-13] reads the answers of its beta resource, and goes on from them', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, async (app) => {
      const client = new OpenAI({ apiKey: 'client-key', baseURL: app.url, maxRetries: 0 });
      const settings = {
        model: 'fake-model',
        tools: [ASK],
        multi_agent: { enabled: true, max_concurrent_subagents: 3 },
        betas: ['responses_multi_agent=v1' as const],
      };
      const first = await client.beta.responses.create({ ...settings, input: 'What is it?' });
      const [asked] = first.output.flatMap((item) => (item.type === 'function_call' ? [item] : []));
      expect(asked?.agent?.agent_name).toBe(CHILD);
      const second = await client.beta.responses.create({
        ...settings,
        previous_response_id: first.id,
        input: [{ type: 'function_call_output', call_id: asked?.call_id ?? '', output: 'it is green' }],
      });
      const finals = second.output.flatMap((item) =>
        item.type === 'message' && item.agent?.agent_name === ROOT && item.phase === 'final_answer' ? item.content : [],
      );
      expect(finals).toMatchObject([{ type: 'output_text', text: 'The answer: it is green' }]);
    });
  });

  it('[E-13] injects outputs by the WebSocket of its beta resource', async () => {
    await withAgents({ [ROOT]: delegating, [CHILD]: asking }, async (app) => {
      const client = new OpenAI({ apiKey: 'client-key', baseURL: app.url, maxRetries: 0 });
      const ws = new ResponsesWS(client, { headers: { 'OpenAI-Beta': 'responses_multi_agent=v1' } });
      const created: string[] = [];
      let id = '';
      const answer = await new Promise<string>((resolve, reject) => {
        ws.on('error', reject);
        ws.on('event', (event) => {
          if (event.type === 'response.created') id = event.response.id;
          if (event.type === 'response.inject.created') created.push(event.response_id);
          if (event.type === 'response.completed') resolve(JSON.stringify(event.response.output.at(-1)));
          if (event.type !== 'response.output_item.done' || event.item.type !== 'function_call') return;
          const output = { type: 'function_call_output' as const, call_id: event.item.call_id, output: 'it is red' };
          ws.send({ type: 'response.inject', response_id: id, input: [output] });
        });
        ws.send({
          type: 'response.create',
          model: 'fake-model',
          input: 'What is it?',
          tools: [ASK],
          multi_agent: { enabled: true },
        });
      });
      ws.close();
      expect(answer).toContain('The answer: it is red');
      expect(created).toEqual([id]);
    });
  });
});

python.describe('openai-agents', () => {
  let client: PythonClient;
  beforeAll(() => {
    client = startPythonClient(python.python, 'programs_client.py');
  });
  afterAll(() => client.close());

  it.each([false, true])(
    '[E-13] runs its own tools for all agents, by its experimental model; streamed: %s',
    (stream) =>
      withAgents({ [ROOT]: delegating, [CHILD]: asking }, async (app) => {
        const scene = { url: app.url, scene: 'several', question: 'What is it?', stream };
        expect(await client.run(scene)).toEqual({ asked: [['it', CHILD]], final: 'The answer: it is blue' });
      }),
  );
});
