/** Commands for the client's shell, and programs that it runs: the model writes them as the arguments of a function. */
import type { LocalShellCallItem, ShellCallItem } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import type { ToolDefinition } from '../model-request.ts';
import { isRecord, type JsonObject, plainTextOf } from '../record.ts';
import { clientToolKind } from './client-tool.ts';
import type { ShownCall } from './kind.ts';

const SHELL = 'shell';

/** `shell_call` */
export const shellCall = clientToolKind({
  type: 'shell_call',
  tool: SHELL,
  idPrefix: 'sh',
  functionFor: shellFunction,
  item: itemOf,
  fieldsOf: ({ action }) => action,
  answeredBy: {
    type: 'shell_call_output',
    outputOf: ({ output }) => outputText(output),
    missing: (text) => ({ output: [{ stdout: '', stderr: text, outcome: { type: 'exit', exit_code: 1 } }] }),
  },
});

function itemOf({ id, callId, arguments: text }: ShownCall, status: ShellCallItem['status']): ShellCallItem {
  const { commands, command, timeout_ms: timeout, max_output_length: length } = objectIn(text) ?? {};
  const action = {
    commands: textsIn(commands ?? command),
    timeout_ms: positiveIn(timeout),
    max_output_length: positiveIn(length),
  };
  return { id, type: 'shell_call', status, call_id: callId, action, environment: { type: 'local' } };
}

/** Only the client's own shell can be offered: containers are OpenAI's. */
function shellFunction({ environment }: JsonObject): ToolDefinition | undefined {
  if (isRecord(environment) && environment.type !== 'local') return undefined;
  const skills = isRecord(environment) && Array.isArray(environment.skills) ? environment.skills.filter(isRecord) : [];
  return { name: SHELL, description: [ABOUT, ...skillLines(skills)].join('\n'), parameters: PARAMETERS };
}

const ABOUT =
  "Runs commands in the user's shell, one after the other, and returns the output and the exit code of each of them.";

function skillLines(skills: readonly JsonObject[]): readonly string[] {
  if (skills.length === 0) return [];
  const lines = skills.map(
    ({ name, description, path }) => `- ${plainTextOf(name)}: ${plainTextOf(description)} (in ${plainTextOf(path)})`,
  );
  return ['Before a task that one of these skills fits, read the file SKILL.md in its folder:', ...lines];
}

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

function outputText(outputs: unknown): unknown {
  if (!Array.isArray(outputs)) return outputs;
  if (outputs.length === 0) return '(no output)';
  return outputs.map((each) => (isRecord(each) ? commandText(each) : '')).join('\n\n');
}

function commandText({ stdout, stderr, outcome }: JsonObject): string {
  const errors = plainTextOf(stderr);
  return [plainTextOf(stdout), errors === '' ? '' : `[stderr]\n${errors}`, outcomeText(outcome)]
    .filter((part) => part !== '')
    .join('\n');
}

function outcomeText(outcome: unknown): string {
  if (!isRecord(outcome)) return '';
  return outcome.type === 'timeout' ? '[timed out]' : `[exit code ${plainTextOf(outcome.exit_code)}]`;
}

const LOCAL_SHELL = 'local_shell';

/** `local_shell_call` */
export const localShellCall = clientToolKind({
  type: 'local_shell_call',
  tool: LOCAL_SHELL,
  idPrefix: 'lsh',
  functionFor: () => ({ name: LOCAL_SHELL, description: ABOUT_PROGRAMS, parameters: PROGRAM }),
  item: programItem,
  fieldsOf: ({ action }) => (isRecord(action) ? { ...action, type: null } : action),
  // The API has no `call_id` in these: the `id` is the call's.
  answeredBy: { type: 'local_shell_call_output', callIdOf: ({ id }) => id, missing: (output) => ({ output }) },
});

function programItem(
  { id, callId, arguments: text }: ShownCall,
  status: LocalShellCallItem['status'],
): LocalShellCallItem {
  const { command, env, timeout_ms: timeout, user, working_directory: directory } = objectIn(text) ?? {};
  const timeoutMs = positiveIn(timeout);
  // Clients refuse nulls here, though not in the action of a `shell_call`: OpenAI leaves out what the model did not say.
  const action = {
    type: 'exec' as const,
    command: typeof command === 'string' ? ['bash', '-lc', command] : textsIn(command),
    env: textPairsIn(env),
    ...(timeoutMs === null ? {} : { timeout_ms: timeoutMs }),
    ...(typeof user === 'string' ? { user } : {}),
    ...(typeof directory === 'string' ? { working_directory: directory } : {}),
  };
  return { id, type: 'local_shell_call', status, call_id: callId, action };
}

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
function textsIn(value: unknown): readonly string[] {
  return [value].flat().filter((each) => typeof each === 'string');
}

/** The number; null if it is none that a client could wait or count with. */
function positiveIn(value: unknown): number | null {
  return typeof value === 'number' && value > 0 && Number.isFinite(value) ? value : null;
}

/** The pairs of texts. */
function textPairsIn(value: unknown): Readonly<Record<string, string>> {
  if (!isRecord(value)) return {};
  // The cast: only texts are left.
  return Object.fromEntries(Object.entries(value).filter(([, text]) => typeof text === 'string')) as Record<
    string,
    string
  >;
}
