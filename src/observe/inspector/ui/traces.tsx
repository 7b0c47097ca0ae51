/** The traces of agents: as a page of their own, and beside the response that one of their spans names. */
import type { traceView } from '../server/trace-view.ts';
import { useData } from './parts/data.tsx';
import { formatCount, formatMs, formatTime, pretty, shortenId, showHidden } from './parts/format.tsx';
import { Box, Fold, Scroll, Status, Tenant, Text, Waiting } from './parts/parts.tsx';

type View = ReturnType<typeof traceView>;
type Trace = View['traces'][number];
type Span = Trace['spans'][number];

export function TracesPage({ version }: { readonly version: number }) {
  const { data, error } = useData<View>('api/traces', version);
  return (
    <>
      <div class="title">
        <h1>Traces</h1>
      </div>
      {!data && <Waiting error={error} />}
      {data?.traces.length === 0 && (
        <p class="empty">No trace has arrived: tracesApi takes what OpenAI’s agents SDKs export.</p>
      )}
      {data && <Traces view={data} current={undefined} />}
    </>
  );
}

/** Nothing, until a trace names the response: it arrives some seconds later than the response. */
export function TracesOfResponse({ number, version }: { readonly number: string; readonly version: number }) {
  const { data } = useData<View>(`api/traces?response=${number}`, version);
  if (!data || data.traces.length === 0) return null;
  return (
    <>
      <h2>Traces</h2>
      <Traces view={data} current={Number(number)} />
    </>
  );
}

function Traces({ view, current }: { readonly view: View; readonly current: number | undefined }) {
  return (
    <>
      {view.traces.map((trace) => (
        <TraceCard key={`${trace.tenant} ${trace.id}`} trace={trace} current={current} />
      ))}
      {view.found > view.traces.length && (
        <p class="faint">{formatCount(view.found - view.traces.length)} older traces are kept.</p>
      )}
    </>
  );
}

function TraceCard({ trace, current }: { readonly trace: Trace; readonly current: number | undefined }) {
  const title = trace.name || trace.id;
  const label = `Spans of ${title}`;
  return (
    <section class="card" aria-label={showHidden(`Trace ${title}`)}>
      <header>
        {current === undefined ? (
          <h2>
            <Text of={title} />
          </h2>
        ) : (
          <h3>
            <Text of={title} />
          </h3>
        )}
        <Tenant of={trace.tenant} /> <span class="mono faint">{shortenId(trace.id)}</span>
        {trace.groupId !== null && <span class="faint">group {shortenId(trace.groupId)}</span>}
        <span class="when">{trace.at === null ? '' : formatTime(trace.at)}</span>
      </header>
      {trace.spans.length > 0 && (
        <Scroll class="scroll" label={label}>
          <table>
            <thead>
              <tr>
                <th scope="col">Step</th>
                <th scope="col" class="number">
                  Start
                </th>
                <th scope="col" class="number">
                  Duration
                </th>
                <th scope="col">Response</th>
              </tr>
            </thead>
            <tbody>
              {trace.spans.map((span) => (
                <SpanLine key={span.id} span={span} current={current} />
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
      {trace.dropped > 0 && <p class="faint small">{formatCount(trace.dropped)} spans are not shown.</p>}
    </section>
  );
}

/** How deep a step is indented; app.css has one rule for each. */
const MAX_INDENT = 8;

function SpanLine({ span, current }: { readonly span: Span; readonly current: number | undefined }) {
  const { type, name, depth, start, duration, error, response, responseId, data } = span;
  const label = `${type} ${name}`.trim();
  return (
    <tr>
      <th scope="row" class={`step indent-${Math.min(depth, MAX_INDENT)}`}>
        <span class="mono">{showHidden(type)}</span> <Text of={name.slice(0, 200)} />{' '}
        {error !== null && <Status of="failed" />}
        {error !== null && <Text class="error" of={error} />}
        {data.text !== '' && (
          <Fold title={`Data of ${showHidden(label.slice(0, 60))}`}>
            {() => <Box of={pretty(data.text)} cut={data.cut} label={`Data of ${label}`} />}
          </Fold>
        )}
      </th>
      <td class="number">{formatMs(start)}</td>
      <td class="number">{formatMs(duration)}</td>
      <td>
        {response === null ? (
          <span class="mono faint">{responseId === null ? '–' : shortenId(responseId)}</span>
        ) : response === current ? (
          'this one'
        ) : (
          <a href={`#/responses/${response}`}>{response}</a>
        )}
      </td>
    </tr>
  );
}
