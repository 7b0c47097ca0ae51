/** Commands for a shell, of the client or in a container, and programs that the client runs: the model writes them as the arguments of a function. */
import type { Item, ItemStatus, OutputItem, ShellOutput, ToolCallResult } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { isRecord, type JsonObject, plainText, recordsIn } from '../record.ts';
import { clientToolKind } from './client-tool.ts';
import { containerTerms } from './container-terms.ts';
import type { ShownCall, WrittenToolCallKind } from './kind.ts';
import { toolOutputText } from './results/output-text.ts';

/** The model's name for a shell, and the type by which requests have one. */
export const SHELL = 'shell';

const SHELL_OUTPUT = {
  type: 'shell_call_output',
  outputOf: ({ output }: Item) => {
    if (!Array.isArray(output)) return output;
    return shellOutputText(output);
  },
  missing: (text: string) => ({ output: [{ stdout: '', stderr: text, outcome: { type: 'exit', exit_code: 1 } }] }),
};

/** `shell_call` of the client's own shell */
export const shellCall = clientToolKind({
  type: 'shell_call',
  tool: SHELL,
  idPrefix: 'sh',
  functionFor: (tool) => {
    const { environment } = tool;
    if (isHostedShell(tool)) return undefined;
    const skills = isRecord(environment) ? recordsIn(environment.skills) : [];
    return { name: SHELL, description: [ABOUT, ...skillLines(skills)].join('\n'), parameters: SHELL_PARAMETERS };
  },
  item: (call, status) => shellItem(call, status, { type: 'local' }),
  fieldsOf: ({ action }) => action,
  answeredBy: SHELL_OUTPUT,
});

/** `shell_call` of a shell in a container, whose results are an item of their own */
export const hostedShellCall: WrittenToolCallKind = {
  ...shellCall,
  runBy: 'server',
  keptTerms: containerTerms('environment'),
  container: {
    idIn: ({ environment }) =>
      isRecord(environment) && environment.type === 'container_reference'
        ? plainText(environment.container_id)
        : undefined,
    fileIdsIn: ({ environment }) => (isRecord(environment) ? environment.file_ids : undefined),
    fileIdsField: 'environment.file_ids',
    containerOf: ({ environment }) => (isRecord(environment) ? environment.container_id : undefined),
    place: 'the shell',
  },
  item: (call, status) =>
    shellItem(call, status, { type: 'container_reference', container_id: call.owner.container ?? '' }),
  runArguments(text) {
    const { commands, command } = objectIn(text) ?? {};
    const written = Array.isArray(commands) ? commands : [commands ?? command];
    if (written.length === 0 || written.some((each) => typeof each !== 'string')) return text;
    const fields = Object.entries(readAction(text)).filter(([, value]) => value !== null);
    return JSON.stringify(Object.fromEntries(fields));
  },
  completeEvents: ({ arguments: text }) =>
    readAction(text).commands.flatMap((command, index) => [
      { type: 'response.shell_call_command.added', command_index: index, command: '' },
      { type: 'response.shell_call_command.delta', command_index: index, delta: command },
      { type: 'response.shell_call_command.done', command_index: index, command },
    ]),
  outputItem: {
    idPrefix: 'sho',
    item: ({ callId, arguments: text, fields }, id, result) => ({
      id,
      type: 'shell_call_output',
      status: result ? 'completed' : 'in_progress',
      call_id: callId,
      ...fields,
      max_output_length: readAction(text).max_output_length,
      output: result ? (result.commandOutputs ?? [failedOutput(result)]) : [],
    }),
    events: (item) =>
      (item.type === 'shell_call_output' ? item.output : []).flatMap((output, index) => {
        const place = { item_id: item.id, command_index: index };
        const { stdout, stderr } = output;
        return [
          { type: 'response.shell_call_output_content.delta', ...place, delta: { stdout, stderr } },
          { type: 'response.shell_call_output_content.done', ...place, output: [output] },
        ];
      }),
  },
  answered: (item, output) => {
    const call = shellCall.answered(item, item.output ?? output);
    return call && { ...call, name: item.name ?? SHELL };
  },
  modelName: (_, names) => names.serving(SHELL) ?? SHELL,
};

/** Whether the shell of a request, or of an item, is one in a container: without an environment it is the client's. */
export function isHostedShell({ environment }: { readonly environment?: unknown }): boolean {
  return isRecord(environment) && environment.type !== 'local';
}

/** What is said of skills to a model, a line for each; none for none. */
export function skillLines(skills: readonly JsonObject[]): readonly string[] {
  if (skills.length === 0) return [];
  const lines = skills.map(
    ({ name, description, path }) => `- ${plainText(name)}: ${plainText(description)} (in ${plainText(path)})`,
  );
  return ['Before a task that one of these skills fits, read the file SKILL.md in its folder:', ...lines];
}

/** The outputs of commands as text; the same whenever the model receives them. */
export function shellOutputText(outputs: readonly unknown[]): string {
  if (outputs.length === 0) return '(no output)';
  return outputs.map((result) => (isRecord(result) ? commandText(result) : '')).join('\n\n');
}

/** What the model wrote of a call of a shell. */
function readAction(text: string) {
  const { commands, command, timeout_ms: timeout, max_output_length: length } = objectIn(text) ?? {};
  return {
    commands: readTexts(commands ?? command),
    timeout_ms: readPositive(timeout),
    max_output_length: readPositive(length),
  };
}

type ShellItem = Extract<OutputItem, { readonly type: 'shell_call' }>;

function shellItem(
  { id, callId, arguments: text }: ShownCall,
  status: ItemStatus,
  environment: ShellItem['environment'],
): ShellItem {
  return { id, type: 'shell_call', status, call_id: callId, action: readAction(text), environment };
}

/** A call that failed as a whole, such as one whose container was lost. */
function failedOutput({ output, failed }: ToolCallResult): ShellOutput {
  const text = toolOutputText(output);
  const exit_code = failed ? 1 : 0;
  return { stdout: failed ? '' : text, stderr: failed ? text : '', outcome: { type: 'exit', exit_code } };
}

function commandText({ stdout, stderr, outcome }: JsonObject): string {
  const errors = plainText(stderr);
  const parts = [plainText(stdout), errors === '' ? '' : `[stderr]\n${errors}`];
  if (isRecord(outcome))
    parts.push(outcome.type === 'timeout' ? '[timed out]' : `[exit code ${plainText(outcome.exit_code)}]`);
  return parts.filter((part) => part !== '').join('\n');
}

const ABOUT =
  "Runs commands in the user's shell, one after the other, and returns the output and the exit code of each of them.";

/** What a model writes of a call of a shell. */
export const SHELL_PARAMETERS = {
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

/** The number, whole as the API has it; null if it is none that a client could wait or count with. */
function readPositive(value: unknown): number | null {
  const whole = typeof value === 'number' ? Math.ceil(value) : 0;
  return whole > 0 && Number.isSafeInteger(whole) ? whole : null;
}
