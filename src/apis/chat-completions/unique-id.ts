/** Gives a completion an id by which it can be found, where the model server's own may be another's, too. */

import { isUniqueId, newObjectId } from '../../protocol/ids.ts';
import { markedIn, unmarked } from '../../protocol/json/whole-numbers.ts';
import { isRecord } from '../../protocol/record.ts';
import { mapStream } from '../../streams/pull-stream.ts';
import type { SendChat } from './chat-model.ts';

/** The model calls of one completion: if the first answer's id is too short, all answers have one of our own. */
export function withUniqueId(send: SendChat): SendChat {
  const ownId = newObjectId('chat');
  let isUnique: boolean | undefined;

  function rename(data: string): string {
    const chunk = isUnique ? undefined : markedIn(data);
    // Azure's first chunk has an empty id, and decides nothing.
    if (!isRecord(chunk) || typeof chunk.id !== 'string' || chunk.id === '') return data;
    isUnique ??= isUniqueId(chunk.id);
    return isUnique ? data : unmarked(JSON.stringify({ ...chunk, id: ownId }));
  }

  return (body, call) =>
    mapStream(send(body, call), { map: (batch) => (isUnique ? batch : { ...batch, data: batch.data.map(rename) }) });
}
