/** Conversations: each as a tree of turns, whose branches are visible. */
import type { conversationView } from '../server/conversation-view.ts';
import { useData } from './data.tsx';
import { count, ms, short, time, visible } from './format.tsx';
import { Status, Text, Waiting } from './parts.tsx';

type View = ReturnType<typeof conversationView>;
type Tree = View['trees'][number];
type Turn = Tree['turns'][number];

export function Conversations({ version, of }: { readonly version: number; readonly of: string | null }) {
  const query = of === null ? '' : `?of=${encodeURIComponent(of)}`;
  const { data, error } = useData<View>(`api/conversations${query}`, version);
  return (
    <>
      <h1>{of === null ? 'Conversations' : 'Conversation'}</h1>
      {of !== null && (
        <p class="crumb">
          <a href="#/conversations">All conversations</a>
        </p>
      )}
      {!data && <Waiting error={error} />}
      {data?.trees.length === 0 && <p class="empty">No response is kept.</p>}
      {data?.trees.map((tree) => (
        <TreeView key={tree.number} tree={tree} />
      ))}
      {data && data.found > data.trees.length && (
        <p class="faint">{count(data.found - data.trees.length)} older ones are not shown.</p>
      )}
    </>
  );
}

function TreeView({ tree }: { readonly tree: Tree }) {
  const [first] = tree.turns;
  if (!first) return null;
  const input = sum(tree.turns, ({ inputTokens }) => inputTokens);
  const output = sum(tree.turns, ({ outputTokens }) => outputTokens);
  const branches = tree.turns.filter(({ branch }, at) => branch > (tree.turns[at - 1]?.branch ?? 0)).length;
  return (
    <section class="tree" aria-label={`Conversation from response ${tree.number}`}>
      <header>
        <strong>{time(first.at)}</strong> {count(tree.count)} {tree.count === 1 ? 'turn' : 'turns'}
        {branches > 0 && `, ${branches + 1} branches`}, {count(input)} tokens in, {count(output)} out{' '}
        <span class="faint">
          tenant {short(tree.tenant, 14)}
          {tree.conversation && `, ${visible(tree.conversation)}`}
        </span>
      </header>
      {tree.continues && !tree.conversation && (
        <p class="faint">It continues {short(tree.continues, 30)}, which is not kept here.</p>
      )}
      <ol>
        {tree.turns.map((turn) => (
          <TurnView key={turn.number} turn={turn} />
        ))}
      </ol>
    </section>
  );
}

/** The most levels of indentation; deeper branches are not indented further. */
const DEEPEST = 6;

function TurnView({ turn }: { readonly turn: Turn }) {
  return (
    <li class={`branch-${Math.min(turn.branch, DEEPEST)}`}>
      <div class="turn">
        <Status of={turn.status} />
        <a href={`#/responses/${turn.number}`}>
          <Text of={turn.asked || turn.id} />
        </a>
        <Text of={turn.answered} class="faint" />
        <span class="number">
          {count(turn.inputTokens)} → {count(turn.outputTokens)} tokens, {ms(turn.duration)}
          {turn.branch > 0 && <span class="faint">, branch {turn.branch}</span>}
        </span>
      </div>
    </li>
  );
}

function sum(turns: readonly Turn[], of: (turn: Turn) => number | null): number {
  return turns.reduce((total, turn) => total + (of(turn) ?? 0), 0);
}
