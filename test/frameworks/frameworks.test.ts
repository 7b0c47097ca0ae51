/** The example of each framework, as a process of its own, built and run beside the built package, in front of a model server that waits. */
import OpenAI from 'openai';
import { describeWhere } from '../support/skipping.ts';
import { frameworks, isReady, type RunningFramework, startFramework } from './frameworks.ts';
import { type Model, startModel, WAIT } from './model.ts';

const asBody = { method: 'POST', headers: { 'content-type': 'application/json', authorization: 'Bearer key-of-ada' } };
const TURN = { model: 'm', input: 'Hi.' } as const;
const WAITING = { model: 'm', input: WAIT, stream: true } as const;

describe.each(frameworks)('examples on $name', (framework) => {
  const ready = isReady(framework);
  if (!ready && process.env.CI === 'true')
    throw new Error(`CI needs ${framework.name}, which is not installed and built`);

  describeWhere(ready, `${framework.name} is not installed and built: npm run test:frameworks`)('as a process', () => {
    let model: Model;
    let app: RunningFramework;

    beforeAll(async () => {
      model = await startModel();
      app = await startFramework(framework, model.baseURL);
    });
    afterAll(async () => {
      await app?.stop();
      model.close();
    });

    const clientOf = (user: string) =>
      new OpenAI({ baseURL: `${app.url}/v1`, apiKey: `key-of-${user}`, maxRetries: 0, timeout: 30_000 });
    const statusOf = (asked: Promise<unknown>) =>
      asked.then(
        () => 200,
        (error: InstanceType<typeof OpenAI.APIError>) => error.status,
      );

    it('[X-03] answers in JSON, through both APIs', async () => {
      const client = clientOf('ada');
      const messages = [{ role: 'user' as const, content: 'Hi.' }];
      const [response, chat] = [
        await client.responses.create(TURN),
        await client.chat.completions.create({ model: 'm', messages }),
      ];
      expect([response.output_text, chat.choices[0]?.message.content]).toEqual(['Hello.', 'Hello.']);
    });

    it('[X-03] takes a prompt that is larger than body parsers allow', async () => {
      const { output_text } = await clientOf('ada').responses.create({ ...TURN, input: 'x'.repeat(3_000_000) });
      expect(output_text).toBe('Hello.');
    });

    it('[X-03] sends each delta as soon as the model has sent it', async () => {
      const calling = model.nextCall();
      const asked = clientOf('ada').responses.create(WAITING);
      const call = await calling;
      const received: string[] = [];
      call.say('one');
      const stream = await asked;
      for await (const event of stream) {
        if (event.type !== 'response.output_text.delta') continue;
        received.push(event.delta);
        // The next piece exists only after this one has arrived.
        if (received.length < 3) call.say(['two', 'three'][received.length - 1] ?? '');
        else call.end();
      }
      expect(received).toEqual(['one', 'two', 'three']);
    });

    it('[X-03] ends the call of the model when the client leaves a stream', async () => {
      const calling = model.nextCall();
      const asked = clientOf('ada').responses.create(WAITING);
      const call = await calling;
      call.say('one');
      const stream = await asked;
      for await (const event of stream) if (event.type === 'response.output_text.delta') break;
      stream.controller.abort();
      await expect(call.left).resolves.toBeUndefined();
    });

    it('[X-03] ends the call of the model when the client leaves before the first delta', async () => {
      const calling = model.nextCall();
      const left = new AbortController();
      const asked = clientOf('ada')
        .responses.create(WAITING, { signal: left.signal })
        .catch(() => 'left');
      const call = await calling;
      left.abort();
      await asked;
      await expect(call.left).resolves.toBeUndefined();
    });

    it('[X-03] answers bad bodies in the envelope of OpenAI', async () => {
      const answers = ['{"model":', '{"model":1}'].map(async (body) => {
        const answer = await fetch(`${app.url}/v1/responses`, { ...asBody, body });
        const { error } = (await answer.json()) as { error: { type: string; message: string } };
        return [answer.status, error.type, typeof error.message];
      });
      const refused = [400, 'invalid_request_error', 'string'];
      expect(await Promise.all(answers)).toEqual([refused, refused]);
    });

    it('[X-03] asks the app who the user is', async () => {
      const unknown = await fetch(`${app.url}/v1/responses`, { method: 'POST', body: '{}' });
      expect([unknown.status, await statusOf(clientOf('eve').responses.create(TURN))]).toEqual([401, 401]);
    });

    it('[X-03] hides the responses of a user from the others', async () => {
      const { id } = await clientOf('ada').responses.create(TURN);
      const [ada, bob] = [clientOf('ada'), clientOf('bob')];
      expect([
        await statusOf(ada.responses.retrieve(id)),
        await statusOf(bob.responses.retrieve(id)),
        await statusOf(bob.responses.delete(id)),
        await statusOf(ada.responses.delete(id)),
        await statusOf(ada.responses.retrieve(id)),
      ]).toEqual([200, 404, 404, 200, 404]);
    });

    it('[X-03] serves the API below /v1 alone', async () => {
      const answers = ['/responses', '/v1responses', '/v1/unknown'].map(async (path) => {
        const { status } = await fetch(app.url + path, {
          ...asBody,
          headers: { authorization: 'Bearer key-of-ada' },
          body: '{}',
        });
        return status;
      });
      expect(await Promise.all(answers)).toEqual([404, 404, 404]);
    });

    it('[X-03] stops at SIGTERM without an error', async () => {
      const stopping = await startFramework(framework, model.baseURL);
      const { status, errors } = await stopping.stop();
      expect([framework.name === 'nextjs' || status === 0, errors]).toEqual([
        true,
        expect.not.stringMatching(/error/i),
      ]);
    });
  });
});
