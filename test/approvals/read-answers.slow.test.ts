/** The user's answers, in conversations that were made to be hard to read. */

import { keepPending } from '../../src/approvals/pending-call.ts';
import { readAnswers } from '../../src/approvals/read-answers.ts';
import { memoryStore } from '../../src/index.ts';
import { DEFAULT_LIMITS } from '../../src/ports/limits.ts';
import { outputItemId, randomSeed } from '../../src/protocol/ids.ts';
import { endpointRequest } from '../support/endpoint-request.ts';

const apiRequest = endpointRequest();

it('[F-02] are held against the call in time in proportion, however often the conversation shows it', async () => {
  const store = memoryStore();
  const id = outputItemId('mcpr', randomSeed(), 0);
  const about = { id, type: 'mcp_approval_request', server_label: 'mail', name: 'send' } as const;
  // Long as the model wrote them, and short as the client writes them.
  const request = { ...about, arguments: `{"to":"Ann"${' '.repeat(1024 * 1024)}}` };
  await keepPending({ store, onStoreError: 'fail', hooks: {} }, apiRequest, { request, url: null });
  const shown = Array.from({ length: 10_000 }, () => ({ ...about, arguments: '{"to":"Ann"}' }));
  const answer = { type: 'mcp_approval_response', approval_request_id: id, approve: true };
  const tool = { server: 'mail', name: 'send' };
  const provider = { name: 'mail', list: () => [], call: () => Promise.reject(new Error('No.')) };
  const input = [...shown, answer];
  const toolset = new Map([['send', { provider, tool }]]);
  const sources = { apiRequest, input, conversation: input, toolset, approvalRules: new Map() };
  const began = process.cpuUsage();
  const { approved } = await readAnswers(sources as never, { store, hooks: {}, limits: DEFAULT_LIMITS });
  expect([approved.length, process.cpuUsage(began).user < 1e6]).toEqual([1, true]);
});
