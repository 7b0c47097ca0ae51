/** What a request says of its own keeping and of its user holds on every API: nothing is stored, and the model server learns who asked. */
import { memoryStore, type ResponseStore } from '../../src/index.ts';
import { calling } from '../apis/chat-completions/script.ts';
import { type Model, OPENAI_WAYS, RESPONSES_WAYS, withForbidden } from './forbidden-app.ts';

/** A store that remembers the ids of what it was told to keep. */
function watchedStore() {
  const put: string[] = [];
  const store = memoryStore();
  const watched: ResponseStore = {
    ...store,
    put(stored) {
      put.push(stored.id);
      return store.put(stored);
    },
  };
  return { put, store: watched };
}

const { 'Responses in the background': _background, ...FOREGROUND } = OPENAI_WAYS;
/** The model calls a tool first, so that there is something between the request and the answer. */
const model: Model = (_asked, round) => (round === 1 ? { calls: [calling('read')] } : { text: 'Done.' });

describe('store false', () => {
  it.each(Object.entries(FOREGROUND))('[O-03] stores nothing: %s', async (_, way) => {
    const { put, store } = watchedStore();
    const seen = await withForbidden(model, (app) => way(app, { store: false }), { store });
    expect([seen.end, put]).toEqual(['completed', []]);
  });

  it.each(Object.entries(RESPONSES_WAYS))('[O-03] is what differs from a request without it: %s', async (_, way) => {
    const { put, store } = watchedStore();
    await withForbidden(model, (app) => way(app, {}), { store });
    expect(put.length).toBeGreaterThan(0);
  });
});

describe('safety_identifier, user and moderation', () => {
  it.each(Object.entries(OPENAI_WAYS))('[O-03] reach the model server in every round: %s', async (_, way) => {
    const about = { safety_identifier: 'user-7', user: 'user-7', moderation: { model: 'omni-moderation-latest' } };
    const sent = await withForbidden(model, async (app) => {
      await way(app, about);
      return app.asked.map(({ safety_identifier, user, moderation }) => ({ safety_identifier, user, moderation }));
    });
    expect(sent).toEqual([about, about]);
  });
});
