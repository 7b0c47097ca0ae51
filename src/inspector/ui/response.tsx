/** One response: its timeline, its items, and what the model server was sent. */
import { useState } from 'preact/hooks';
import type { responseView } from '../server/response-view.ts';
import { useData } from './data.tsx';
import { Diff } from './diff.tsx';
import { count, dollars, ms, parsed, pretty, time, visible } from './format.tsx';
import { ItemList } from './items.tsx';
import { Pager } from './pager.tsx';
import { Box, Copy, Facts, Fold, Status, Text, Waiting } from './parts.tsx';
import { Timeline } from './timeline.tsx';

type Response = ReturnType<typeof responseView>;

interface Props {
  readonly number: string;
  readonly version: number;
  /** The path of the API, if the playground is on. */
  readonly apiPath: string | null;
}

export function ResponsePage({ number, version, apiPath }: Props) {
  const [place, setPlace] = useState({ items: 0, calls: 0 });
  const path = `api/responses/${number}?items=${place.items}&calls=${place.calls}`;
  const { data, error } = useData<Response>(path, version);
  if (!data) return <Waiting error={error} />;
  return (
    <>
      <p class="crumb">
        <a href="#/">Requests</a> /
      </p>
      <h1>
        <Text of={data.asked || data.problem || 'Response'} />
      </h1>
      {error && <Waiting error={error} />}
      <Summary response={data} />
      <div class="bar">
        <Curl response={data} apiPath={apiPath ?? '/v1'} />
        {apiPath && data.body.cut === 0 && data.body.text !== '' && (
          <a class="button" href={`#/playground?from=${data.number}`}>
            Replay with a change
          </a>
        )}
        {(data.previousId || data.conversation || data.id) && data.status !== 'refused' && (
          <a class="button" href={`#/conversations?of=${data.number}`}>
            Conversation
          </a>
        )}
      </div>
      {data.failure && (
        <p class="problem">
          <strong>
            {visible(data.failure.code)} ({data.failure.status})
          </strong>{' '}
          <Text of={data.failure.message} />
        </p>
      )}
      <h2>Timeline</h2>
      <Timeline response={data} />
      {data.api.startsWith('responses') && (
        <ItemList response={data} onPage={(items) => setPlace({ ...place, items })} />
      )}
      <h2>Request of the client</h2>
      {data.body.text === '' ? (
        <p class="faint">Its body was not kept.</p>
      ) : (
        <Fold title={`Body, ${count(data.body.text.length)} characters`}>
          {() => <Box of={pretty(data.body.text)} cut={data.body.cut} label="Body of the client's request" />}
        </Fold>
      )}
      <Calls response={data} onPage={(calls) => setPlace({ ...place, calls })} />
      <Marks response={data} />
    </>
  );
}

function Summary({ response }: { readonly response: Response }) {
  const { usage } = response;
  const tokens = usage
    ? `${count(usage.input_tokens)} in (${count(usage.input_tokens_details.cached_tokens)} cached), ${count(usage.output_tokens)} out (${count(usage.output_tokens_details.reasoning_tokens)} reasoning)`
    : '–';
  const duration = response.duration === null ? `${ms(response.elapsed)} …` : ms(response.duration);
  const answeredBy =
    response.upstreamModel && response.upstreamModel !== response.model ? ` → ${response.upstreamModel}` : '';
  return (
    <Facts
      of={[
        ['Status', <Status of={response.status} />],
        ['Model', <Text of={`${response.model || '–'}${answeredBy}`} />],
        ['Tenant', <Text class="mono" of={response.tenant || '–'} />],
        ['Time', time(response.at)],
        ['Duration', duration],
        ['First token', ms(response.firstOutput)],
        ['Tokens', tokens],
        ['Cost', dollars(response.cost)],
        ['API', response.api || '–'],
        ['Events', count(response.events)],
        ['Response', <Text class="mono" of={response.id || '–'} />],
        ['Request id', <Text class="mono" of={response.requestId} />],
      ]}
    />
  );
}

/** Quotes for a shell, which takes everything between single quotes literally except a single quote. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function Curl({ response, apiPath }: { readonly response: Response; readonly apiPath: string }) {
  const { body, api } = response;
  if (body.text === '') return null;
  if (body.cut > 0) return <span class="faint">The body was cut, so there is no curl for it.</span>;
  const path = api.startsWith('chat') ? 'chat/completions' : 'responses';
  const command = () =>
    [
      `curl ${quoted(`${location.origin}${apiPath}/${path}`)}`,
      `-H 'content-type: application/json'`,
      `-H "authorization: Bearer $API_KEY"`,
      `-d ${quoted(body.text)}`,
    ].join(' \\\n  ');
  return <Copy of={command}>Copy as curl</Copy>;
}

function Calls({ response, onPage }: { readonly response: Response; readonly onPage: (first: number) => void }) {
  const { callList, callCount, firstCall } = response;
  return (
    <>
      <h2>Model calls{callCount > 1 ? ` (${count(callCount)})` : ''}</h2>
      {callCount === 0 && <p class="faint">None was recorded.</p>}
      {callList.map((_, at) => (
        <Call key={firstCall + at} response={response} place={at} />
      ))}
      <Pager first={firstCall} shown={callList.length} all={callCount} onPage={onPage} size={50} />
    </>
  );
}

function Call({ response, place }: { readonly response: Response; readonly place: number }) {
  const call = response.callList[place];
  if (!call) return null;
  const hosts = [...new Set(call.attempts.map(({ host }) => host))].join(', ');
  const took = call.end === null ? 'running' : ms(call.end - call.start);
  const title = `${response.firstCall + place + 1}. ${call.upstream} ${hosts}, ${took}, first token after ${ms(
    call.firstOutput === null ? null : call.firstOutput - call.start,
  )}${call.attempts.length > 1 ? `, ${call.attempts.length} attempts` : ''}`;
  return (
    <Fold
      title={<span class={call.error ? 'error' : ''}>{visible(title)}</span>}
      isOpen={place === 0 && response.callCount === 1}
    >
      {() => (
        <>
          {call.error && (
            <p class="problem">
              <strong>{visible(call.error.code)}</strong> <Text of={call.error.message} />
            </p>
          )}
          <CallText response={response} call={call} number={response.firstCall + place + 1} />
        </>
      )}
    </Fold>
  );
}

const VIEWS = ['side by side', 'diff'] as const;

interface CallTextProps {
  readonly response: Response;
  readonly call: Response['callList'][number];
  readonly number: number;
}

function CallText({ response, call, number }: CallTextProps) {
  const [view, setView] = useState<(typeof VIEWS)[number]>('side by side');
  if (call.request.text === '' && call.answer.text === '')
    return <p class="faint">{call.end === null ? 'It is still running.' : 'Its text was not kept.'}</p>;
  const kind = call.isWire ? 'on the wire' : 'as given to the upstream';
  return (
    <>
      <fieldset class="choice">
        <legend>View of the call</legend>
        {VIEWS.map((each) => (
          <label key={each}>
            <input type="radio" checked={view === each} onChange={() => setView(each)} /> {each}
          </label>
        ))}
      </fieldset>
      {view === 'diff' ? (
        <>
          <p class="faint">From what the client sent (−) to what the model server was sent (+).</p>
          <Diff
            left={sorted(response.body.text)}
            right={sorted(call.request.text)}
            label={`Difference of model call ${number}`}
          />
        </>
      ) : (
        <div class="sides">
          <section>
            <h3>Request, {kind}</h3>
            <Box of={pretty(call.request.text)} cut={call.request.cut} label={`Request of model call ${number}`} />
          </section>
          <section>
            <h3>Answer</h3>
            <Box of={call.answer.text} cut={call.answer.cut} label={`Answer of model call ${number}`} />
          </section>
        </div>
      )}
    </>
  );
}

/** Sorts the members of objects by name, so that their order makes no difference. */
function sorted(text: string): string {
  const value = parsed(text);
  if (!value) return text;
  const inOrder = (_: string, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each;
  return JSON.stringify(value, inOrder, 2);
}

function Marks({ response }: { readonly response: Response }) {
  const shown = response.marks.filter(({ kind }) => kind !== 'heartbeat');
  const heartbeats = response.marks.length - shown.length;
  if (shown.length === 0 && heartbeats === 0 && response.dropped === 0) return null;
  return (
    <>
      <h2>Notes and approvals</h2>
      <ul class="plain">
        {shown.map(({ kind, at, text }) => (
          <li key={`${at} ${text}`}>
            <span class="mono faint">{ms(at)}</span> <strong>{kind}</strong> <Text of={text} />
          </li>
        ))}
        {heartbeats > 0 && <li class="faint">{count(heartbeats)} heartbeats</li>}
        {response.dropped > 0 && <li class="faint">{count(response.dropped)} entries were not kept.</li>}
      </ul>
    </>
  );
}
