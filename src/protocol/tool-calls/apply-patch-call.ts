/** A change of a file that the client makes: the model writes it as the arguments of a function. */
import type { FileOperation } from '../items.ts';
import { objectIn } from '../json/json-text.ts';
import { plainText } from '../record.ts';
import { clientToolKind } from './client-tool.ts';

const APPLY_PATCH = 'apply_patch';

/** `apply_patch_call` */
export const applyPatchCall = clientToolKind({
  type: 'apply_patch_call',
  tool: APPLY_PATCH,
  idPrefix: 'apc',
  functionFor: () => ({ name: APPLY_PATCH, description: ABOUT, parameters: PARAMETERS }),
  item: ({ id, callId, arguments: text }, status) => {
    const { type, path: writtenPath, diff } = objectIn(text) ?? {};
    // An operation without a path stays one: the model learns from the client's failure what is missing.
    const path = plainText(writtenPath);
    const change = { type: type === 'create_file' ? type : 'update_file', path, diff: plainText(diff) } as const;
    const operation: FileOperation = type === 'delete_file' ? { type, path } : change;
    const shownStatus = status === 'completed' ? status : 'in_progress';
    return { id, type: 'apply_patch_call', status: shownStatus, call_id: callId, operation };
  },
  fieldsOf: ({ operation }) => operation,
  answeredBy: {
    type: 'apply_patch_call_output',
    outputOf: ({ status, output }) =>
      [status === 'failed' ? 'The patch failed.' : 'The patch was applied.', plainText(output)].join('\n').trim(),
    missing: (output) => ({ status: 'failed', output }),
  },
});

const ABOUT =
  `Creates, changes or deletes a file of the user's. The diff has no line numbers. To create a file, write each of its lines
with a + in front. To change a file, write for each place a line that begins with @@ and may name the function or class around it,
then lines of the file as they are: with a blank in front of those that stay, - of those that go, + of those that come; three lines
that stay on both sides of a change show where it is.`.replaceAll('\n', ' ');

const PARAMETERS = {
  type: 'object',
  properties: {
    type: { type: 'string', enum: ['create_file', 'update_file', 'delete_file'] },
    path: { type: 'string', description: 'The path of the file, from the folder that the user works in.' },
    diff: { type: 'string', description: 'The change. Leave it out to delete a file.' },
  },
  required: ['type', 'path'],
  additionalProperties: false,
};
