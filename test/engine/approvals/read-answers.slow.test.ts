/** The user's answers, in conversations that were made to be hard to read. */

import { storePendingCall } from '../../../src/engine/approvals/pending-call.ts';
import { readAnswers } from '../../../src/engine/approvals/read-answers.ts';
import { memoryStore } from '../../../src/index.ts';
import { DEFAULT_LIMITS } from '../../../src/ports/limits.ts';
import { outputItemId, randomSeed } from '../../../src/protocol/ids.ts';
import { endpointRequest } from '../../support/endpoint-request.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const apiRequest = endpointRequest();

/** Reads an approval of a call with long arguments, which the conversation shows as often as it says. */
async function readShown(times: number): Promise<void> {
  const store = memoryStore();
  const id = outputItemId('mcpr', randomSeed(), 0);
  const about = { id, type: 'mcp_approval_request', server_label: 'mail', name: 'send' } as const;
  // Long as the model wrote them, and short as the client writes them.
  const request = { ...about, arguments: `{"to":"Ann"${' '.repeat(32 * times)}}` };
  await storePendingCall({ store, onStoreError: 'fail', hooks: {} }, apiRequest, { request, url: null });
  const shown = Array.from({ length: times }, () => ({ ...about, arguments: '{"to":"Ann"}' }));
  const answer = { type: 'mcp_approval_response', approval_request_id: id, approve: true };
  const tool = { server: 'mail', name: 'send' };
  const provider = { name: 'mail', list: () => [], call: () => Promise.reject(new Error('No.')) };
  const input = [...shown, answer];
  const toolset = new Map([['send', { provider, tool }]]);
  const sources = { apiRequest, input, conversation: input, toolset, approvalRules: new Map() };
  const { approved } = await readAnswers(sources as never, { store, hooks: {}, limits: DEFAULT_LIMITS });
  expect(approved.length).toBe(1);
}

it('[F-02] are held against the call in linear work, however often the conversation shows it', async () => {
  await expectLinearWork(2000, readShown);
});
