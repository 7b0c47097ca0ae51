/** Tools that need approval, on an API that cannot request it. */
import type { Note } from '../../../src/index.ts';
import { mailer } from '../../engine/tools/approvals-support.ts';
import { askJson, requestedOf, startChatApp } from './chat-app.ts';

const NOTE = {
  code: 'tool_dropped',
  message:
    "The tool 'send' needs approval, which cannot be requested in Chat Completions; the model is not offered it.",
};

it('[T-09] leaves out the tools that the host wants approved, with a note', async () => {
  const notes: Note[] = [];
  const { provider } = mailer();
  const hooks = { onNote: (note: Note) => void notes.push(note) };
  const app = await startChatApp({ tools: provider, approval: ({ name }) => name === 'send', hooks });
  try {
    app.fake.reply({ body: '{"choices":[]}', headers: { 'content-type': 'application/json' } });
    await askJson(app.url);
    // The cast: the tools of a chat request are functions.
    const tools = requestedOf(app).tools as readonly { readonly function: { readonly name: string } }[];
    expect([tools.map((tool) => tool.function.name), notes]).toEqual([['read'], [NOTE]]);
  } finally {
    await app.close();
  }
});
