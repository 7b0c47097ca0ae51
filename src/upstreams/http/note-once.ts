/** Notes each message once for each call: a turn of several rounds is one call and one response. */
import type { UpstreamCall } from '../../ports/upstream.ts';
import type { Note } from '../../protocol/note.ts';

/** Returns a function that reports the note to the call's host, unless it has reported the same before. */
export function noteOncePerCall(): (call: UpstreamCall, note: Note) => void {
  const noted = new WeakMap<UpstreamCall, Set<string>>();
  return (call, note) => {
    const messages = noted.get(call) ?? new Set();
    noted.set(call, messages);
    if (messages.has(note.message)) return;
    messages.add(note.message);
    call.note(note);
  };
}
