/** Sends a request to the API as any client would, and shows the answer as text and as events. */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { responseView } from '../server/response-view.ts';
import { formatCount, formatMs, parseObject, pretty, showHidden } from './parts/format.tsx';
import { Choice, Copy, Scroll, Text } from './parts/parts.tsx';
import { type AnswerEvent, readAnswerEvents } from './stream.tsx';

type Response = ReturnType<typeof responseView>;

const APIS = { responses: '/responses', chat: '/chat/completions', messages: '/messages' } as const;
type Api = keyof typeof APIS;

const EXAMPLES: Readonly<Record<Api, object>> = {
  responses: { model: '', input: 'Say hello.', stream: true },
  chat: { model: '', messages: [{ role: 'user', content: 'Say hello.' }], stream: true },
  messages: { model: '', max_tokens: 1024, messages: [{ role: 'user', content: 'Say hello.' }], stream: true },
};

/** What has come back so far. */
interface Answer {
  readonly status: string;
  readonly text: string;
  readonly events: readonly AnswerEvent[];
  readonly dropped: number;
  readonly isRunning: boolean;
  /** The answer's `x-request-id`. */
  readonly requestId: string;
}

const NOTHING: Answer = { status: '', text: '', events: [], dropped: 0, isRunning: false, requestId: '' };

interface Props {
  readonly apiPath: string;
  /** The number of the response whose request is sent again. */
  readonly from: string | null;
}

export function Playground({ apiPath, from }: Props) {
  const [api, setApi] = useState<Api>('responses');
  const [body, setBody] = useState(() => pretty(JSON.stringify(EXAMPLES.responses)));
  const [key, setKey] = useState('');
  const models = useModels(apiPath, key, (model) =>
    // That of a recorded request stays as it was.
    setBody((text) => (parseObject(text)?.model === '' ? withModel(text, model) : text)),
  );
  const { answer, send, stop } = useAnswer();
  useEffect(() => {
    if (from !== null)
      void fetchResponse(from).then((response) => {
        if (!response) return;
        setApi(recordedApi(response.api));
        setBody(pretty(response.body.text));
      });
  }, [from]);
  const fields = parseObject(body);
  const choose = (next: Api) => {
    setApi(next);
    if (from === null) setBody(withModel(pretty(JSON.stringify(EXAMPLES[next])), String(fields?.model ?? '')));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    if (fields) void send(`${apiPath}${APIS[api]}`, body, key);
  };
  return (
    <>
      <div class="title">
        <h1>Playground</h1>
        <span class="faint">
          {from === null ? `Requests go to ${apiPath} of this app, as those of any client.` : `From response ${from}`}
        </span>
      </div>
      <div class="sides">
        <form class="card composer" onSubmit={submit}>
          <div class="filters">
            <label>
              <span>API</span>
              <select value={api} onChange={({ currentTarget }) => choose(currentTarget.value as Api)}>
                <option value="responses">Responses</option>
                <option value="chat">Chat Completions</option>
                <option value="messages">Messages</option>
              </select>
            </label>
            <label class="grow">
              <span>model</span>
              <input
                list="models"
                value={String(fields?.model ?? '')}
                onInput={({ currentTarget }) => setBody(withModel(body, currentTarget.value))}
              />
              <datalist id="models">
                {models.map((each) => (
                  <option key={each} value={each} />
                ))}
              </datalist>
            </label>
            <label class="grow">
              <span>API key, if one is needed</span>
              <input
                type="password"
                autoComplete="off"
                value={key}
                onInput={({ currentTarget }) => setKey(currentTarget.value)}
              />
            </label>
          </div>
          <label class="stack">
            <span>body</span>
            <textarea
              rows={20}
              spellcheck={false}
              value={body}
              aria-invalid={!fields}
              onInput={({ currentTarget }) => setBody(currentTarget.value)}
            />
          </label>
          <SendBar isJson={fields !== undefined} isRunning={answer.isRunning} stop={stop} />
        </form>
        <AnswerView answer={answer} />
      </div>
    </>
  );
}

interface SendBarProps {
  readonly isJson: boolean;
  readonly isRunning: boolean;
  readonly stop: () => void;
}

function SendBar({ isJson, isRunning, stop }: SendBarProps) {
  return (
    <div class="bar">
      <button type="submit" class="primary" disabled={!isJson || isRunning}>
        Send
      </button>
      <button type="button" disabled={!isRunning} onClick={stop}>
        Stop
      </button>
      {!isJson && (
        <span role="alert" class="error">
          This is not JSON.
        </span>
      )}
    </div>
  );
}

const VIEWS = ['text', 'events'] as const;

function AnswerView({ answer }: { readonly answer: Answer }) {
  const [view, setView] = useState<(typeof VIEWS)[number]>('text');
  const { status, isRunning, requestId, events, dropped } = answer;
  const all = events.length + dropped;
  return (
    <section class="card result" aria-label="Answer">
      <header>
        <p role="status" class={isRunning ? 'busy' : ''}>
          {status || 'Nothing has been sent.'}
        </p>
        {requestId !== '' && !isRunning && <Recorded requestId={requestId} />}
      </header>
      <div class="bar">
        <Choice label="View of the answer" of={VIEWS} value={view} onChange={setView} />
        {events.length > 0 && <span class="faint">{`${formatCount(all)} ${all === 1 ? 'event' : 'events'}`}</span>}
        <Copy class="small" of={() => (view === 'text' ? answer.text : events.map(({ data }) => data).join('\n'))}>
          Copy
        </Copy>
      </div>
      {view === 'text' ? (
        <div class="answer">
          <Text of={answer.text} class="body" />
        </div>
      ) : (
        <Events of={events} dropped={dropped} />
      )}
    </section>
  );
}

/** A link to the response in the list. */
function Recorded({ requestId }: { readonly requestId: string }) {
  const [number, setNumber] = useState<number>();
  useEffect(() => {
    const query = new URLSearchParams({ q: requestId, limit: '1' });
    fetch(`api/responses?${query}`)
      .then((response) => response.json())
      .then(({ rows }: { readonly rows: readonly { readonly number: number }[] }) => setNumber(rows[0]?.number))
      .catch(() => {});
  }, [requestId]);
  return number === undefined ? null : <a href={`#/responses/${number}`}>Look at it</a>;
}

/** Events that are shown: the page would be slow with all. */
const SHOWN_EVENTS = 400;

function Events({ of, dropped }: { readonly of: readonly AnswerEvent[]; readonly dropped: number }) {
  const hidden = dropped + Math.max(of.length - SHOWN_EVENTS, 0);
  return (
    <>
      {hidden > 0 && <p class="faint small">The first {formatCount(hidden)} are not shown.</p>}
      <Scroll label="Events of the answer" class="box events">
        <ol>
          {of.slice(-SHOWN_EVENTS).map(({ at, type, data }, place) => (
            <li key={hidden + place}>
              <span class="when">{formatMs(at)}</span> <strong>{showHidden(type)}</strong>
              <pre>{showHidden(data)}</pre>
            </li>
          ))}
        </ol>
      </Scroll>
    </>
  );
}

/** The API of a recorded request, such as `chat stream`. */
function recordedApi(recorded: string): Api {
  const [name = ''] = recorded.split(' ');
  return Object.hasOwn(APIS, name) ? (name as Api) : 'responses';
}

function withModel(text: string, model: string): string {
  const fields = parseObject(text);
  return fields && fields.model !== model ? JSON.stringify({ ...fields, model }, null, 2) : text;
}

async function fetchResponse(number: string): Promise<Response | undefined> {
  const response = await fetch(`api/responses/${number}`);
  return response.ok ? response.json() : undefined;
}

/** The models of the API; the first is chosen where the body names none. */
function useModels(apiPath: string, key: string, choose: (model: string) => void): readonly string[] {
  const [models, setModels] = useState<readonly string[]>([]);
  useEffect(() => {
    const asking = new AbortController();
    fetch(`${apiPath}/models`, { headers: authorization(key), signal: asking.signal })
      .then((response) => response.json())
      .then(({ data }: { readonly data: readonly { readonly id: string }[] }) => {
        const ids = data.map(({ id }) => id).filter((id) => typeof id === 'string');
        setModels(ids);
        if (ids[0]) choose(ids[0]);
      })
      .catch(() => {});
    return () => asking.abort();
  }, [apiPath, key]);
  return models;
}

function authorization(key: string): Record<string, string> {
  return key === '' ? {} : { authorization: `Bearer ${key}` };
}

/** Events that the page holds. */
const MAX_EVENTS = 2000;

function useAnswer() {
  const [answer, setAnswer] = useState(NOTHING);
  const running = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => running.current?.abort(), []);

  async function send(path: string, body: string, key: string): Promise<void> {
    const asking = new AbortController();
    running.current = asking;
    const began = performance.now();
    setAnswer({ ...NOTHING, status: 'Sent.', isRunning: true });
    const end = (status: string) => setAnswer((before) => ({ ...before, status, isRunning: false }));
    try {
      const headers = { 'content-type': 'application/json', ...authorization(key) };
      const response = await fetch(path, { method: 'POST', headers, body, signal: asking.signal });
      const requestId = response.headers.get('x-request-id') ?? '';
      setAnswer((before) => ({
        ...before,
        requestId,
        status: `${response.status} ${response.statusText}, streaming …`,
      }));
      for await (const events of readAnswerEvents(response, began))
        setAnswer((before) => {
          const all = [...before.events, ...events];
          const dropped = Math.max(all.length - MAX_EVENTS, 0);
          const text = before.text + events.map((event) => event.text).join('');
          return { ...before, text, events: all.slice(dropped), dropped: before.dropped + dropped };
        });
      end(`${response.status} ${response.statusText} after ${formatMs(performance.now() - began)}`);
    } catch {
      end(asking.signal.aborted ? 'Stopped.' : 'The connection broke.');
    }
  }

  return { answer, send, stop: () => running.current?.abort() };
}
