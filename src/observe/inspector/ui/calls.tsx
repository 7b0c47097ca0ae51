/** The model calls of a response: what the model server was sent, and what it answered. */
import { useState } from 'preact/hooks';
import type { responseView } from '../server/response-view.ts';
import { Diff } from './parts/diff.tsx';
import { formatCount, formatMs, parseObject, pretty, showHidden } from './parts/format.tsx';
import { Pager } from './parts/pager.tsx';
import { Box, Choice, Copy, Fold, Text } from './parts/parts.tsx';

type Response = ReturnType<typeof responseView>;
type ModelCall = Response['callList'][number];

interface CallsProps {
  readonly response: Response;
  /** The calls whose texts are loaded. */
  readonly open: readonly number[];
  readonly onToggle: (call: number, isOpen: boolean) => void;
  readonly onPage: (first: number) => void;
}

export function Calls({ response, open, onToggle, onPage }: CallsProps) {
  const { callList, callCount, firstCall } = response;
  return (
    <>
      <h2>
        Model calls <span class="count">{formatCount(callCount)}</span>
      </h2>
      {callCount === 0 && <p class="faint">None was recorded.</p>}
      {callList.map((call, at) => (
        <div key={firstCall + at} id={`call-${firstCall + at}`}>
          <Fold
            class="card call"
            title={<CallTitle call={call} number={firstCall + at + 1} />}
            isOpen={open.includes(firstCall + at)}
            onToggle={(isOpen) => onToggle(firstCall + at, isOpen)}
          >
            {() => <CallText response={response} call={call} number={firstCall + at + 1} />}
          </Fold>
        </div>
      ))}
      <Pager first={firstCall} shown={callList.length} all={callCount} onPage={onPage} size={50} />
    </>
  );
}

function CallTitle({ call, number }: { readonly call: ModelCall; readonly number: number }) {
  const hosts = [...new Set(call.attempts.map(({ host }) => host))].join(', ');
  const first = call.firstOutput === null ? '' : `first token after ${formatMs(call.firstOutput - call.start)}`;
  const attempts = call.attempts.length > 1 ? `${call.attempts.length} attempts` : '';
  return (
    <>
      <strong class={call.error ? 'error' : ''}>
        {number}. {showHidden(call.upstream)}
      </strong>{' '}
      <span class="mono">{showHidden(hosts)}</span>{' '}
      <span class="faint">
        {[call.end === null ? 'running' : formatMs(call.end - call.start), first, attempts].filter(Boolean).join(', ')}
      </span>
    </>
  );
}

const VIEWS = ['side by side', 'raw', 'diff'] as const;

interface CallTextProps {
  readonly response: Response;
  readonly call: ModelCall;
  readonly number: number;
}

function CallText({ response, call, number }: CallTextProps) {
  const [view, setView] = useState<(typeof VIEWS)[number]>('side by side');
  const isEmpty = call.request.text === '' && call.answer.text === '';
  const withoutText = call.end === null ? 'It is still running.' : 'Its text was not kept.';
  const reason = call.hasText ? 'Loading …' : withoutText;
  return (
    <>
      {call.error && (
        <p class="problem">
          <strong>{showHidden(call.error.code)}</strong> <Text of={call.error.message} />
        </p>
      )}
      {isEmpty && <p class="faint">{reason}</p>}
      {!isEmpty && <Choice label="View of the call" of={VIEWS} value={view} onChange={setView} />}
      {!isEmpty && view === 'diff' && (
        <>
          <p class="faint small">From what the client sent (−) to what the model server was sent (+).</p>
          <Diff
            left={sortMembers(response.body.text)}
            right={sortMembers(call.request.text)}
            label={`Difference of model call ${number}`}
          />
        </>
      )}
      {!isEmpty && view !== 'diff' && <Sides call={call} number={number} isRaw={view === 'raw'} />}
    </>
  );
}

interface SidesProps {
  readonly call: ModelCall;
  readonly number: number;
  readonly isRaw: boolean;
}

function Sides({ call, number, isRaw }: SidesProps) {
  const { request, answer } = call;
  // One JSON body in lines; of a stream, a line for each event, as it came.
  const inLines = answer.text.includes('\n') ? answer.text.replaceAll('\n', '\n\n') : pretty(answer.text);
  return (
    <div class="sides">
      <Side
        title={`Request, ${call.isWire ? 'on the wire' : 'as given to the upstream'}`}
        of={request}
        shown={isRaw ? request.text : pretty(request.text)}
        label={`Request of model call ${number}`}
      />
      <Side title="Answer" of={answer} shown={isRaw ? answer.text : inLines} label={`Answer of model call ${number}`} />
    </div>
  );
}

interface SideProps {
  readonly title: string;
  readonly of: SidesProps['call']['request'];
  readonly shown: string;
  readonly label: string;
}

function Side({ title, of, shown, label }: SideProps) {
  return (
    <section>
      <h3>
        {title}
        <Copy class="small" of={() => of.text}>
          Copy
        </Copy>
      </h3>
      <Box of={shown} cut={of.cut} label={label} />
    </section>
  );
}

/** Sorts the members of objects by name, so that their order makes no difference. */
function sortMembers(text: string): string {
  const value = parseObject(text);
  if (!value) return text;
  const inOrder = (_: string, each: unknown) =>
    typeof each === 'object' && each !== null && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([one], [other]) => (one < other ? -1 : 1)))
      : each;
  return JSON.stringify(value, inOrder, 2);
}
