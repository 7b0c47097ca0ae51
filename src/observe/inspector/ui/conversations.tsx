/** Conversations: each as a tree of turns, whose branches are drawn as rails. */
import type { conversationView } from '../server/conversation-view.ts';
import { useData } from './parts/data.tsx';
import { formatCount, formatMs, formatTime, shortenId, showHidden } from './parts/format.tsx';
import { Status, Tenant, Text, Waiting } from './parts/parts.tsx';
import { inDrawingOrder, type Rails, rowRails } from './rails.tsx';

type View = ReturnType<typeof conversationView>;
type Tree = View['trees'][number];
type Turn = Tree['turns'][number];

export function Conversations({ version, of }: { readonly version: number; readonly of: string | null }) {
  const query = of === null ? '' : `?of=${encodeURIComponent(of)}`;
  const { data, error } = useData<View>(`api/conversations${query}`, version);
  return (
    <>
      {of !== null && (
        <p class="crumb">
          <a href="#/conversations">All conversations</a> <span aria-hidden="true">/</span>
        </p>
      )}
      <div class="title">
        <h1>{of === null ? 'Conversations' : 'Conversation'}</h1>
        {data && of === null && <span class="faint">{formatCount(data.found)} in memory</span>}
      </div>
      {!data && <Waiting error={error} />}
      {data?.trees.length === 0 && <p class="empty">No response is kept.</p>}
      {data?.trees.map((tree) => (
        <TreeView key={tree.number} tree={tree} current={of} />
      ))}
      {data && data.found > data.trees.length && (
        <p class="faint">{formatCount(data.found - data.trees.length)} older ones are not shown.</p>
      )}
    </>
  );
}

function TreeView({ tree, current }: { readonly tree: Tree; readonly current: string | null }) {
  const [first] = tree.turns;
  if (!first) return null;
  const turns = inDrawingOrder(tree.turns);
  const rails = rowRails(turns);
  const lanes = Math.max(...turns.map(({ branch }) => branch));
  const most = Math.max(1, ...turns.map(({ inputTokens, outputTokens }) => (inputTokens ?? 0) + (outputTokens ?? 0)));
  const input = sumTokens(tree.turns, ({ inputTokens }) => inputTokens);
  const output = sumTokens(tree.turns, ({ outputTokens }) => outputTokens);
  const branches = tree.turns.filter(({ branch }, at) => branch > (tree.turns[at - 1]?.branch ?? 0)).length;
  const forks = branches > 0 ? `, ${branches + 1} branches` : '';
  const size = `${formatCount(tree.count)} ${tree.count === 1 ? 'turn' : 'turns'}${forks}, ${formatCount(input)} tokens in, ${formatCount(output)} out`;
  return (
    <section class="card tree" aria-label={`Conversation from response ${tree.number}`}>
      <header>
        <Tenant of={tree.tenant} /> <strong>{size}</strong>
        <span class="when">
          {tree.conversation && `${showHidden(tree.conversation)}, `}
          {formatTime(first.at)}
        </span>
      </header>
      {tree.continues && !tree.conversation && (
        <p class="faint small">It continues {shortenId(tree.continues, 30)}, which is not kept here.</p>
      )}
      <ol>
        {turns.map((turn, at) => (
          <TurnView
            key={turn.number}
            turn={turn}
            rails={rails[at] ?? []}
            lanes={lanes}
            most={most}
            isCurrent={String(turn.number) === current}
          />
        ))}
      </ol>
    </section>
  );
}

interface TurnProps {
  readonly turn: Turn;
  readonly rails: Rails;
  readonly lanes: number;
  /** The most tokens of a turn, which is the scale. */
  readonly most: number;
  readonly isCurrent: boolean;
}

function TurnView({ turn, rails, lanes, most, isCurrent }: TurnProps) {
  return (
    <li aria-current={isCurrent ? 'true' : undefined}>
      <RailsView rails={rails} lanes={lanes} status={turn.status} />
      <div class="said">
        <a href={`#/responses/${turn.number}`}>
          <Text of={turn.asked || turn.id} />
        </a>
        {turn.branch > 0 && <span class="hidden">branch {turn.branch}</span>}
        <Text of={turn.answered} class="faint" />
      </div>
      {turn.status !== 'completed' && <Status of={turn.status} />}
      <div class="tokens">
        <span class="number">
          {formatCount(turn.inputTokens)} → {formatCount(turn.outputTokens)} <span class="hidden">tokens,</span>
        </span>
        <TokenBar turn={turn} most={most} />
      </div>
      <span class="number took">{formatMs(turn.duration)}</span>
    </li>
  );
}

/** Deeper branches share the last lane. */
const MAX_LANES = 8;
const LANE = 18;

function RailsView({ rails, lanes, status }: Pick<TurnProps, 'rails' | 'lanes'> & { readonly status: string }) {
  const x = (lane: number) => Math.min(lane, MAX_LANES) * LANE + 9;
  const own = rails.find(({ isOwn }) => isOwn);
  return (
    <div class={`rails lanes-${Math.min(lanes, MAX_LANES)}`}>
      <svg aria-hidden="true">
        {rails.map(({ lane, from, to }) => (
          <line key={`${lane} ${from}`} x1={x(lane)} x2={x(lane)} y1={from} y2={to} class={`lane-${lane % 4}`} />
        ))}
        {own?.parentLane !== undefined && own.parentLane !== own.lane && (
          <path
            d={`M ${x(own.parentLane)} 0 V 6 Q ${x(own.parentLane)} 20 ${x(own.lane)} 20`}
            class={`lane-${own.lane % 4}`}
          />
        )}
        {own && <circle cx={x(own.lane)} cy="20" r="5" class={`dot ${status}`} />}
      </svg>
    </div>
  );
}

/** Tokens in and out, to the scale of the conversation. */
function TokenBar({ turn, most }: { readonly turn: Turn; readonly most: number }) {
  const input = ((turn.inputTokens ?? 0) / most) * 100;
  const output = ((turn.outputTokens ?? 0) / most) * 100;
  return (
    <svg class="bar-of-time" viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true">
      <rect class="before" width={input} height="4" />
      <rect class="after" x={input} width={output} height="4" />
    </svg>
  );
}

function sumTokens(turns: readonly Turn[], of: (turn: Turn) => number | null): number {
  return turns.reduce((total, turn) => total + (of(turn) ?? 0), 0);
}
