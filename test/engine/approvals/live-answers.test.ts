/** Which answers of the user are new. */
import { liveAnswers } from '../../../src/engine/approvals/read-answers.ts';
import type { Item } from '../../../src/protocol/items.ts';
import { expectLinearWork } from '../../support/linear-work.ts';

const SEED = '0123456789abcdef0123456789abcdef';
const OTHER = 'f'.repeat(32);
const A = `mcpr_${SEED}0000`;
const B = `mcpr_${SEED}0001`;

const answer = (id: string): Item => ({ type: 'mcp_approval_response', approval_request_id: id, approve: true });
const item = (type: string, more: Omit<Item, 'type'> = {}): Item => ({ type, ...more });
const message = (role: string): Item => item('message', { role, content: 'Hi.' });
const request = (id: string): Item => item('mcp_approval_request', { id });

describe('an answer', () => {
  it.each<[string, readonly Item[]]>([
    ['nothing', []],
    ['the user', [message('user')]],
    ['the host', [message('system'), message('developer')]],
    ['results of the client’s own calls', [item('function_call_output'), item('custom_tool_call_output')]],
    ['another answer', [answer(B)]],
    ['a request of the same model call', [request(B), answer(B)]],
    ['words of the same model call', [item('message', { role: 'assistant', id: `msg_${SEED}0002` })]],
    ['words of another agent in the same response', [item('message', { role: 'assistant', id: `msg_${SEED}0002r1` })]],
    ['tools of the client’s', [item('additional_tools')]],
    ['what the client has found', [item('tool_search_output', { call_id: 'call_1', execution: 'client' })]],
    ['what is not known', [item('future_item')]],
  ])('[T-09] is new where %s follows', (_, after) => {
    expect(liveAnswers([request(A), answer(A), ...after])).toContainEqual(answer(A));
  });

  it.each<[string, Item]>([
    ['words of the model', message('assistant')],
    ['a request of another response', request(`mcpr_${OTHER}0000`)],
    ...[
      'reasoning',
      'function_call',
      'custom_tool_call',
      'mcp_call',
      'mcp_list_tools',
      'tool_search_output',
      'mcp_approval_request',
      'web_search_call',
      'code_interpreter_call',
      'compaction',
    ].map((type): [string, Item] => [`an item of type ${type}`, item(type)]),
  ])('[T-09] is history where %s follows', (_, after) => {
    expect(liveAnswers([request(A), answer(A), after, message('user'), answer(B)])).toEqual([answer(B)]);
  });

  it('[T-09] is history where words of a later model call follow those of its own', () => {
    const written = [request(B), message('assistant')];
    expect(liveAnswers([request(A), answer(A), ...written])).toEqual([]);
    expect(liveAnswers([request(A), answer(A), ...written.toReversed()])).toEqual([]);
  });

  it('[T-09, P-14] is found among very many in linear work', async () => {
    await expectLinearWork(2000, (size) => {
      const many = Array.from({ length: size }, (_, index) => (index % 2 ? answer(A) : request(A)));
      expect(liveAnswers(many)).toHaveLength(size / 2);
    });
  });

  it('[T-09] to a request that is not ours is history after any words of a model', () => {
    expect(liveAnswers([answer('x'), item('message', { role: 'assistant', id: 'y' })])).toEqual([]);
  });
});
