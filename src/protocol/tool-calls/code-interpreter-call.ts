/** A code run in a container: the model writes the code as the one argument `code` of a function. */
import type { CodeInterpreterCallItem } from '../items.ts';
import { lazily } from '../json/lazy-schema.ts';
import { either, kinds, list } from '../json/schema-kinds.ts';
import { isRecord, plainText, recordsIn } from '../record.ts';
import { containerTerms } from './container-terms.ts';
import type { ContainerFileLink, ShownCall, WrittenToolCallKind } from './kind.ts';
import { toolOutputText } from './results/output-text.ts';

/** The model's name for the tool that runs its code, and the type by which requests enable it. */
export const CODE_INTERPRETER = 'code_interpreter';

/** `code_interpreter_call` */
export const codeInterpreterCall: WrittenToolCallKind = {
  type: 'code_interpreter_call',
  tool: CODE_INTERPRETER,
  toolSchema: lazily((z) =>
    z.object({
      container: either(
        'a container id or an object',
        kinds().text,
        z.object({ file_ids: list().nullish() }),
      ).nullish(),
    }),
  ),
  itemSchema: lazily((z) => z.object({ id: kinds().optionalText, code: kinds().optionalText })),
  keptTerms: containerTerms('container'),
  container: {
    idIn: ({ container }) => (typeof container === 'string' ? container : undefined),
    fileIdsIn: ({ container }) => (isRecord(container) ? container.file_ids : undefined),
    fileIdsField: 'container.file_ids',
    containerOf: (item) => item.container_id,
    place: 'the code interpreter',
  },
  idPrefix: 'ci',
  runBy: 'server',
  field: 'code',
  argumentsEvent: 'code_interpreter_call_code',
  // A failed call has no event of its own: its item has the status.
  states: { opened: 'in_progress', running: 'interpreting', completed: 'completed' },
  // Without them a program whose client keeps the conversation itself could not go on.
  shown({ files: _, ...item }, { has }) {
    return has('outputs') || item.caller !== undefined ? item : { ...item, outputs: null };
  },
  item: (call, status) => codeCallItem(call, status, null),
  finished(call, { output, failed, outputs, written = [] }) {
    const shown = outputs ?? [{ type: 'logs', logs: toolOutputText(output) }];
    const item = codeCallItem(call, failed ? 'failed' : 'completed', shown);
    return written.length === 0 ? item : { ...item, files: written };
  },
  citable: ({ container_id: container, files }) => ({ written: containerFileLinks(container, files) }),
  answered: ({ call_id: id, name, code, output, outputs, status }) => ({
    id,
    name: name ?? CODE_INTERPRETER,
    arguments: JSON.stringify({ code }),
    output: output ?? codeOutputText(outputs),
    failed: status === 'failed',
  }),
  hasResult: ({ outputs }) => Array.isArray(outputs),
  // Some clients send an empty list for the outputs that they were not shown.
  lacksResult: ({ outputs }) => !Array.isArray(outputs) || outputs.length === 0,
  modelName: (_, names) => names.serving(CODE_INTERPRETER) ?? CODE_INTERPRETER,
};

/** The files of an item, which may be a client's: what is no file is left out. */
function containerFileLinks(container: unknown, files: unknown): readonly ContainerFileLink[] {
  if (typeof container !== 'string') return [];
  return recordsIn(files).flatMap(({ file_id, name }) =>
    typeof file_id === 'string' && typeof name === 'string' ? [{ container_id: container, file_id, name }] : [],
  );
}

function codeCallItem(
  { id, owner, input }: ShownCall,
  status: CodeInterpreterCallItem['status'],
  outputs: CodeInterpreterCallItem['outputs'],
): CodeInterpreterCallItem {
  return { id, type: 'code_interpreter_call', status, container_id: owner.container ?? '', code: input, outputs };
}

/** The outputs of code runs as text, each on lines of its own; the same whenever the model receives them. */
export function codeOutputText(outputs: unknown): string {
  if (!Array.isArray(outputs)) return '(no output was recorded)';
  if (outputs.length === 0) return '(no output)';
  return outputs
    .map((output) => {
      if (!isRecord(output)) return '';
      return plainText(output.logs ?? `[${plainText(output.type)}]`);
    })
    .join('\n');
}
