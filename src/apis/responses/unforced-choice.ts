/** The `tool_choice` of a request that goes on where an earlier one had forced a call. */
import { isRecord } from '../../protocol/record.ts';
import { isClientTool } from '../../protocol/tool-calls/kinds.ts';

/**
 * The choice without its force, since the forced call has been made: if it were repeated, the model would never answer.
 * What it forbids stays forbidden.
 */
export function unforcedChoice(choice: unknown): unknown {
  if (choice === 'none') return choice;
  if (!isRecord(choice) || isClientTool(choice.type)) return 'auto';
  if (choice.type === 'allowed_tools') return { ...choice, mode: 'auto' };
  // A choice of a server or of a hosted tool allows no other.
  return { type: 'allowed_tools', mode: 'auto', tools: [choice] };
}
