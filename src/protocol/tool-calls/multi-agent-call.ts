/** An action of an agent on the other agents of its response, with its result in an item of its own. */
import type { MultiAgentAction } from '../items.ts';
import { lazily } from '../json/lazy-schema.ts';
import { kinds } from '../json/schema-kinds.ts';
import { plainText } from '../record.ts';
import type { WrittenToolCallKind } from './kind.ts';
import { toolOutputText } from './results/output-text.ts';

/** The label of the actions, and the field by which requests enable them. */
export const MULTI_AGENT = 'multi_agent';

/** The actions, which are also the model's names for them. */
export const AGENT_ACTIONS: readonly MultiAgentAction[] = [
  'spawn_agent',
  'send_message',
  'followup_task',
  'wait_agent',
  'interrupt_agent',
  'list_agents',
];

/** `multi_agent_call` */
export const multiAgentCall: WrittenToolCallKind = {
  type: 'multi_agent_call',
  tool: MULTI_AGENT,
  itemSchema: lazily((z) =>
    z.object({ call_id: kinds().callId, action: z.enum(AGENT_ACTIONS), arguments: kinds().text }),
  ),
  idPrefix: 'mac',
  runBy: 'server',
  field: 'arguments',
  states: {},
  item: ({ id, callId, owner, arguments: text }) => ({
    id,
    type: 'multi_agent_call',
    action: owner.name as MultiAgentAction,
    arguments: text,
    call_id: callId,
  }),
  outputItem: {
    idPrefix: 'maco',
    item: ({ callId, owner }, id, result) => ({
      id,
      type: 'multi_agent_call_output',
      action: owner.name as MultiAgentAction,
      call_id: callId,
      output: result
        ? [{ type: 'output_text', text: toolOutputText(result.output), annotations: [], logprobs: [] }]
        : [],
    }),
  },
  // The output is there in the running turn, and where the agent's items have been gathered.
  answered: ({ call_id: id, name, action, arguments: text, output }) => ({
    id,
    name: name ?? action,
    arguments: text,
    output: output ?? '',
    failed: false,
  }),
  modelName: ({ action }, names) => names.of(MULTI_AGENT, plainText(action)) ?? plainText(action),
};
