/** The events that a log lacks of a turn that is stored as it ended. */

import { storedEnd, turnCheckpoint } from '../../../src/engine/turn/checkpoint.ts';
import { plainPlan, startState } from '../../../src/engine/turn/machine/state.ts';
import { NO_USAGE, type TurnEvent } from '../../../src/protocol/events.ts';
import type { OutputItem } from '../../../src/protocol/items.ts';

const LIMITS = { outputBytes: 1000, argumentBytes: 1000 };

/** A message of an agent, whole. */
function message(id: string, agent: string, text: string) {
  const content = [{ type: 'output_text', text, annotations: [], logprobs: [] }];
  // The cast: the response adds the agent to each item.
  return {
    id,
    type: 'message',
    status: 'completed',
    role: 'assistant',
    content,
    agent: { agent_name: agent },
  } as never;
}

it('[E-13] ends what every agent was writing and calling, as it is stored', () => {
  const call = {
    ...{ id: 'mcp_1', type: 'mcp_call', status: 'completed', server_label: 's', name: 'read', arguments: '{}' },
    ...{ output: 'Read.', error: null, approval_request_id: null, agent: { agent_name: '/root/b' } },
  } as never;
  const output: readonly OutputItem[] = [
    message('msg_0', '/root', 'I wait'),
    message('msg_1', '/root/a', 'I read'),
    call,
  ];
  const open = (item: OutputItem, fields: object) => Object.assign({}, item, { status: 'in_progress' }, fields);
  const part = { type: 'output_text', text: '', annotations: [], logprobs: [] } as const;
  const written = (index: number, itemId: string, text: string): readonly TurnEvent[] => [
    { type: 'item-start', sequence: 0, index, item: open(output[index] as OutputItem, { content: [] }) },
    { type: 'part-start', sequence: 0, index, itemId, partIndex: 0, part },
    { type: 'part-delta', sequence: 0, index, itemId, partIndex: 0, part: 'output_text', text, logprobs: '' },
  ];
  const events: readonly TurnEvent[] = [
    { type: 'turn-start', sequence: 0 },
    ...written(0, 'msg_0', 'I wait'),
    ...written(1, 'msg_1', 'I read'),
    { type: 'item-start', sequence: 0, index: 2, item: open(call, { output: null, arguments: '' }) },
  ];
  const checkpoint = turnCheckpoint(startState(plainPlan(LIMITS, 'summary_text', '')));
  const how = { status: 'completed', reason: null, error: null, completedAt: 1, usage: NO_USAGE } as const;
  const missing = storedEnd({ checkpoint, events, next: 8 }, { ...how, output });
  const ended = missing.flatMap((event) => (event.type === 'item-end' ? [[event.index, event.item, event.agent]] : []));
  expect(ended).toEqual(output.map((item, index) => [index, item, ['/root', '/root/a', '/root/b'][index]]));
  expect(missing.at(-1)).toMatchObject({ type: 'turn-end', status: 'completed', output });
});
