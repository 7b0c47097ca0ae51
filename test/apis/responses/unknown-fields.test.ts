/** Fields that the API does not have are noted, and never silently taken for settings. */

import { noteUnknownFields } from '../../../src/apis/responses/unknown-fields.ts';
import type { Note } from '../../../src/protocol/note.ts';

function notesOn(body: Readonly<Record<string, unknown>>): readonly string[] {
  const notes: Note[] = [];
  noteUnknownFields({ body, headers: new Headers() }, {}, (note) => void notes.push(note));
  expect(new Set(notes.map(({ code }) => code)).size).toBeLessThan(2);
  return notes.map(({ message }) => message);
}

describe('noteUnknownFields', () => {
  it('[F-31] notes neither fields that the API has nor null', () => {
    expect(notesOn({ model: 'm', input: 'Hi.', tools: [], stream_options: {}, prompt: null, stop: null })).toEqual([]);
  });

  it('[F-31] names fields of other APIs, and what they are called here', () => {
    expect(notesOn({ max_tokens: 5, response_format: {}, messages: [], stop: ['a'] })).toEqual([
      "The Responses API has no field 'max_tokens'; it is ignored. Its name here is 'max_output_tokens'.",
      "The Responses API has no field 'response_format'; it is ignored. Its name here is 'text.format'.",
      "The Responses API has no field 'messages'; it is ignored. Its name here is 'input'.",
      "The Responses API has no field 'stop'; it is ignored.",
    ]);
  });

  it('[Q-09] names OpenAI’s own fields that have no effect here, unless they ask for nothing', () => {
    const tools = [{ type: 'function', async: true }, { type: 'function', async: true, allowed_callers: null }, 7];
    const harmless = {
      reasoning: { mode: 'standard', context: 'auto' },
      stream_options: { include_obfuscation: false },
    };
    expect([notesOn({ image: {}, reasoning: { mode: 'pro' }, tools }), notesOn(harmless)]).toEqual([
      [
        "'image' has no effect here; it is left out.",
        "'reasoning.mode' has no effect here; it is left out.",
        "'async' of tools has no effect here; it is left out.",
      ],
      [],
    ]);
  });

  it('[F-31] names eight, counts the others, and cuts long names', () => {
    const fields = Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`${'x'.repeat(1000)}${index}`, 1]));
    const notes = notesOn(fields);
    expect([notes.length, notes.at(-1), notes.every(({ length }) => length < 150)]).toEqual([
      9,
      '992 more unknown fields are ignored.',
      true,
    ]);
  });
});
