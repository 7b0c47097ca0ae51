/** A program that the client runs: the model writes its name and arguments as the arguments of a function. */
import type { LocalShellCallItem } from '../items.ts';
import type { ShownCall, WrittenToolCallKind } from './kind.ts';
import { argumentsOf, objectIn, positiveIn, textPairsIn, textsIn } from './read-arguments.ts';

const LOCAL_SHELL = 'local_shell';

/** `local_shell_call` */
export const localShellCall: WrittenToolCallKind = {
  type: 'local_shell_call',
  tool: LOCAL_SHELL,
  idPrefix: 'lsh',
  runBy: 'client',
  field: 'arguments',
  states: {},
  functionFor: () => ({ name: LOCAL_SHELL, description: ABOUT, parameters: PARAMETERS }),
  item: (call, status) => itemOf(call, status),
  finished: (call) => itemOf(call, 'completed'),
  answered: ({ call_id: id, action }, output) => ({
    id,
    name: LOCAL_SHELL,
    arguments: argumentsOf(withoutType(action)),
    output,
    failed: false,
  }),
  answeredBy: { type: 'local_shell_call_output', missing: (output) => ({ output }) },
};

function itemOf({ id, callId, arguments: text }: ShownCall, status: LocalShellCallItem['status']): LocalShellCallItem {
  const { command, env, timeout_ms: timeout, user, working_directory: directory } = objectIn(text);
  const action = {
    type: 'exec' as const,
    command: typeof command === 'string' ? ['bash', '-lc', command] : textsIn(command),
    env: textPairsIn(env),
    timeout_ms: positiveIn(timeout),
    user: typeof user === 'string' ? user : null,
    working_directory: typeof directory === 'string' ? directory : null,
  };
  return { id, type: 'local_shell_call', status, call_id: callId, action };
}

function withoutType(action: unknown): unknown {
  return typeof action === 'object' ? { ...action, type: null } : action;
}

const ABOUT = "Runs a program on the user's computer, and returns its output.";

const PARAMETERS = {
  type: 'object',
  properties: {
    command: {
      type: 'array',
      items: { type: 'string' },
      description: 'The program and its arguments, such as ["bash", "-lc", "ls *.md"].',
    },
    working_directory: { type: 'string', description: 'The folder that it runs in.' },
    timeout_ms: { type: 'integer', description: 'How long it may take, in milliseconds.' },
    env: { type: 'object', additionalProperties: { type: 'string' }, description: 'Environment variables to set.' },
    user: { type: 'string', description: 'The user that it runs as.' },
  },
  required: ['command'],
  additionalProperties: false,
};
