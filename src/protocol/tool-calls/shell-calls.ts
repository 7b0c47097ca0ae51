/** Commands for the client's shell, and programs that it runs: the model writes them as the arguments of a function. */
import { objectIn } from '../json/json-text.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../record.ts';
import { clientToolKind } from './client-tool.ts';

const SHELL = 'shell';

/** `shell_call` */
export const shellCall = clientToolKind({
  type: 'shell_call',
  tool: SHELL,
  idPrefix: 'sh',
  functionFor: ({ environment }) => {
    // Only the client's own shell can be offered: containers are OpenAI's.
    if (isRecord(environment) && environment.type !== 'local') return undefined;
    const skills = isRecord(environment) ? recordsIn(environment.skills) : [];
    const lines = skills.map(
      ({ name, description, path }) => `- ${plainText(name)}: ${plainText(description)} (in ${plainText(path)})`,
    );
    if (lines.length > 0)
      lines.unshift('Before a task that one of these skills fits, read the file SKILL.md in its folder:');
    return { name: SHELL, description: [ABOUT, ...lines].join('\n'), parameters: PARAMETERS };
  },
  item: ({ id, callId, arguments: text }, status) => {
    const { commands, command, timeout_ms: timeout, max_output_length: length } = objectIn(text) ?? {};
    const action = {
      commands: readTexts(commands ?? command),
      timeout_ms: readPositive(timeout),
      max_output_length: readPositive(length),
    };
    return { id, type: 'shell_call', status, call_id: callId, action, environment: { type: 'local' } };
  },
  fieldsOf: ({ action }) => action,
  answeredBy: {
    type: 'shell_call_output',
    outputOf: ({ output }) => {
      if (!Array.isArray(output)) return output;
      if (output.length === 0) return '(no output)';
      return output.map((result) => (isRecord(result) ? commandText(result) : '')).join('\n\n');
    },
    missing: (text) => ({ output: [{ stdout: '', stderr: text, outcome: { type: 'exit', exit_code: 1 } }] }),
  },
});

function commandText({ stdout, stderr, outcome }: JsonObject): string {
  const errors = plainText(stderr);
  const parts = [plainText(stdout), errors === '' ? '' : `[stderr]\n${errors}`];
  if (isRecord(outcome))
    parts.push(outcome.type === 'timeout' ? '[timed out]' : `[exit code ${plainText(outcome.exit_code)}]`);
  return parts.filter((part) => part !== '').join('\n');
}

const ABOUT =
  "Runs commands in the user's shell, one after the other, and returns the output and the exit code of each of them.";

const PARAMETERS = {
  type: 'object',
  properties: {
    commands: { type: 'array', items: { type: 'string' }, description: 'The commands, each a line for the shell.' },
    timeout_ms: { type: 'integer', description: 'How long all of them may take, in milliseconds.' },
    max_output_length: { type: 'integer', description: 'How many characters of output to return.' },
  },
  required: ['commands'],
  additionalProperties: false,
};

const LOCAL_SHELL = 'local_shell';

/** `local_shell_call` */
export const localShellCall = clientToolKind({
  type: 'local_shell_call',
  tool: LOCAL_SHELL,
  idPrefix: 'lsh',
  functionFor: () => ({ name: LOCAL_SHELL, description: ABOUT_PROGRAMS, parameters: PROGRAM }),
  item: ({ id, callId, arguments: text }, status) => {
    const { command, env, timeout_ms: timeout, user, working_directory: directory } = objectIn(text) ?? {};
    const timeoutMs = readPositive(timeout);
    // Clients refuse nulls here, though not in the action of a `shell_call`: OpenAI leaves out what the model did not say.
    const action = {
      type: 'exec' as const,
      command: typeof command === 'string' ? ['bash', '-lc', command] : readTexts(command),
      // The cast: only texts are left.
      env: Object.fromEntries(
        Object.entries(isRecord(env) ? env : {}).filter(([, value]) => typeof value === 'string'),
      ) as Record<string, string>,
      ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
      ...(typeof user === 'string' ? { user } : {}),
      ...(typeof directory === 'string' ? { working_directory: directory } : {}),
    };
    return { id, type: 'local_shell_call', status, call_id: callId, action };
  },
  fieldsOf: ({ action }) => (isRecord(action) ? { ...action, type: null } : action),
  // The API has no `call_id` in these: the `id` is the call's.
  answeredBy: { type: 'local_shell_call_output', callIdOf: ({ id }) => id, missing: (output) => ({ output }) },
});

const ABOUT_PROGRAMS = "Runs a program on the user's computer, and returns its output.";

const PROGRAM = {
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

/** The texts of a list, or the one text. */
function readTexts(value: unknown): readonly string[] {
  return [value].flat().filter((each) => typeof each === 'string');
}

/** The number; null if it is none that a client could wait or count with. */
function readPositive(value: unknown): number | null {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : null;
}
