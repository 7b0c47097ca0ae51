/** Calls of tools that OpenAI defines and the client runs: the model writes the fields of the item as arguments. */
import type { Item } from '../items.ts';
import { isRecord } from '../record.ts';
import type { WrittenToolCallKind } from './kind.ts';

/** What such a tool has of its own. */
interface ClientTool
  extends Pick<WrittenToolCallKind, 'type' | 'idPrefix' | 'functionFor' | 'item'>,
    Required<Pick<WrittenToolCallKind, 'tool' | 'answeredBy'>> {
  /** The object in the item that was made from the arguments; fields that are null were not among them. */
  fieldsOf(item: Item): unknown;
}

/** The call type of the tool. */
export function clientToolKind({ fieldsOf, ...own }: ClientTool): WrittenToolCallKind {
  return {
    ...own,
    runBy: 'client',
    field: 'arguments',
    states: {},
    answered: (item, output) => {
      const fields = fieldsOf(item);
      const pairs = Object.entries(isRecord(fields) ? fields : {}).filter(([, value]) => value !== null);
      const text = JSON.stringify(Object.fromEntries(pairs));
      return { id: item.call_id, name: own.tool, arguments: text, output, failed: false };
    },
  };
}
