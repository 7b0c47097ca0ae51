/** Tests that the example app serves a client: every scenario, every failure, and its hang-up. */
import { type FakeResponder, type FakeUpstream, startFakeUpstream } from '../../../src/testing/index.ts';
import { startExample } from '../../examples/support.ts';
import { transcript } from '../tools/transcript.ts';
import { CUT, REFUSED, type Received, STALLED, scenarios, type Wanted } from './scenarios.ts';

/** How an app uses the client: resolves with what it received, and rejects with what the client throws. */
export type Use = (wanted: Wanted, connection: Connection) => Promise<Received>;

/** How the client reaches the example. */
export interface Connection {
  /** The base URL, which ends in `/v1`. */
  readonly url: string;
  readonly stream: boolean;
  /** Aborted when the app loses interest. */
  readonly signal: AbortSignal;
  /** Receives each piece of text as it comes, where the client streams. */
  readonly received: (text: string) => void;
}

/** A client under test. */
export interface Client {
  readonly title: string;
  readonly use: Use;
  /** What the client itself keeps from its app. */
  readonly untold?: { readonly thoughtsInOnePiece?: true; readonly failures?: true };
}

interface Served {
  readonly fake: FakeUpstream;
  connect(stream: boolean, received?: (text: string) => void): Connection & { readonly leave: () => void };
  close(): Promise<void>;
}

async function startServed(...rounds: readonly FakeResponder[]): Promise<Served> {
  const fake = await startFakeUpstream();
  fake.reply(...rounds);
  const example = await startExample({ UPSTREAM_BASE_URL: fake.baseURL, UPSTREAM_API_KEY: 'upstream-key' });
  const close = async () => {
    // The example waits for its last connections, which a client keeps for later.
    await Promise.all([fake.close(), example.close()]);
  };
  return { fake, close, connect: (stream, received = () => {}) => connection(`${example.url}/v1`, stream, received) };
}

function connection(url: string, stream: boolean, received: (text: string) => void) {
  const controller = new AbortController();
  return { url, stream, received, signal: controller.signal, leave: () => controller.abort() };
}

const HI: Wanted = { questions: ['Hi.'] };

/** The tests, for answers in one piece and for streams. */
export function itServes({ title, use, untold = {} }: Client): void {
  let served: Served | undefined;
  const start = async (...rounds: readonly FakeResponder[]) => {
    served = await startServed(...rounds);
    return served;
  };

  afterEach(async () => {
    await served?.close();
    served = undefined;
  });

  describe.each([
    { stream: false, how: 'in one piece' },
    { stream: true, how: 'streamed' },
  ])(`${title}, $how`, ({ stream }) => {
    it.each(scenarios)('[Q-02] $rows gets $name', async ({ rounds, received, requested, ...wanted }) => {
      const { fake, connect } = await start(...rounds);
      const thoughts = !stream && untold.thoughtsInOnePiece ? '' : received.thoughts;
      expect([await use(wanted, connect(stream)), transcript(fake.requests.at(-1)?.body)]).toEqual([
        { ...received, thoughts },
        requested,
      ]);
    });

    it('[Q-02] [P-09] learns what the model server refuses', async () => {
      const { connect } = await start(REFUSED);
      await expect(use(HI, connect(stream)).catch(reportedOf)).resolves.toContain('The prompt is too odd.');
    });

    it('[Q-02] [P-09] learns that the model server went away', async () => {
      const { connect } = await start(CUT);
      const outcome = await use(HI, connect(stream)).catch(() => 'failed');
      expect(outcome).toEqual(untold.failures ? { answers: ['Hel'], thoughts: '' } : 'failed');
    });

    it('[Q-02] [P-10] ends the call of the model when it leaves', async () => {
      const { fake, connect } = await start(STALLED);
      const connection = connect(stream, () => connection.leave());
      const left = fake.closed(0);
      const arrived = fake.nextRequest();
      const used = use(HI, connection).catch(() => 'left');
      await arrived;
      if (!stream) connection.leave();
      await left;
      expect([await used, fake.requests.map(({ aborted }) => aborted)]).toEqual(['left', [true]]);
    });
  });
}

/** All that an error says of itself; some clients hide the server's message in a field. */
function reportedOf(error: unknown): string {
  return `${error} ${JSON.stringify(error)}`;
}
