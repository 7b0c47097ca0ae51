/** A secret at leaves of a part of the recordings, and in everything that a model server of the router writes. */

import { GuardedEvents } from '../../../src/engine/guarding/answers/guarded-events.ts';
import { guardBody } from '../../../src/engine/guarding/request/guarded-body.ts';
import { pii } from '../../../src/policies/guards/index.ts';
import type { ModelEvent } from '../../../src/protocol/events.ts';
import { describeShared } from '../../support/shared.ts';
import { IN_JSON, NAME, plantSecrets, SECRET } from './planting.ts';
import { requestGuards } from './support.ts';

describeShared('a secret at every leaf of some of what was recorded', () => plantSecrets({ share: 3, alone: 3 }));

it('[G-05] is replaced in a document whose data are its text, though it looks like base64', async () => {
  const { guards } = requestGuards({ input: [pii()] });
  const source = { type: 'text', media_type: 'text/plain', data: 'DE89370400440532013000' };
  const body = { messages: [{ role: 'user', content: [{ type: 'document', source }] }] };
  expect(JSON.stringify(await guardBody(body, guards))).toBe(JSON.stringify(body).replace(source.data, '[IBAN]'));
});

describe('a secret in what a model server of the router writes', () => {
  const events: readonly ModelEvent[] = [
    { type: 'text-delta', text: SECRET },
    { type: 'refusal-delta', text: SECRET },
    { type: 'reasoning-delta', text: SECRET },
    { type: 'tool-call-delta', call: 0, id: 'c', name: 'f', arguments: IN_JSON },
    {
      type: 'search-end',
      search: 's',
      failed: false,
      sources: [{ type: 'url', url: `https://a.example/?q=${NAME}@example.com` }],
    },
    {
      type: 'annotation',
      annotation: {
        type: 'url_citation',
        url: `https://a.example/${NAME}@example.com`,
        title: SECRET,
        start_index: 0,
        end_index: 1,
      },
    },
  ];

  it.each(events)('[G-05] is replaced in $type', async (event) => {
    const answer = new GuardedEvents(requestGuards({ output: [pii()] }).guards, () => true);
    const shown = [...(await answer.take([event])), ...(await answer.take([{ type: 'finish', reason: 'stop' }]))];
    expect(JSON.stringify(shown)).not.toContain(NAME);
    expect(shown.length).toBeGreaterThan(1);
  });
});
