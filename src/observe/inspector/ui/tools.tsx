/** The servers of tools, with what they offer. */
import type { toolView } from '../server/part-views.ts';
import { useData } from './parts/data.tsx';
import { formatCount, formatMs, formatTime, pretty, showHidden } from './parts/format.tsx';
import { Box, Fold, Status, Text, Waiting } from './parts/parts.tsx';
import { TryTool } from './try-tool.tsx';

type View = Awaited<ReturnType<typeof toolView>>;
type Server = View['servers'][number];
type Tool = Server['tools'][number];

interface Props {
  readonly version: number;
  /** Whether tools may be tried. */
  readonly canRun: boolean;
}

export function ToolsPage({ version, canRun }: Props) {
  const { data, error } = useData<View>('api/tools', version);
  return (
    <>
      <div class="title">
        <h1>Tools</h1>
      </div>
      {!data && <Waiting error={error} />}
      {data?.choosesTools && (
        <p class="faint">A router chooses its tools by request: those that were called are listed.</p>
      )}
      {data?.servers.length === 0 && <p class="empty">The observed routers run no tools.</p>}
      {data?.servers.map((server) => (
        <ServerView key={server.label} server={server} canRun={canRun} />
      ))}
    </>
  );
}

function ServerView({ server, canRun }: { readonly server: Server; readonly canRun: boolean }) {
  const { label, state, protocol, transport, total, tools } = server;
  const { calls, failures, mean } = total;
  const callCount = `${formatCount(calls)} ${calls === 1 ? 'call' : 'calls'}`;
  const failed = failures > 0 ? `, ${formatCount(failures)} failed` : '';
  return (
    <section class="card" aria-label={showHidden(label)}>
      <header>
        <h2>{showHidden(label)}</h2> {state && <Status of={state} />}
        <span class="faint">
          {[protocol && `MCP ${showHidden(protocol)}`, transport && showHidden(transport)].filter(Boolean).join(' · ')}
        </span>
        <span class="when">
          {calls === 0 ? 'not called yet' : `${callCount}${failed}, ${formatMs(mean)} on average`}
        </span>
      </header>
      {server.error && (
        <p class="problem">
          <Text of={server.error} />
        </p>
      )}
      {tools.length === 0 && <p class="faint">It offers no tools now.</p>}
      {tools.map((tool) => (
        <ToolView key={tool.name} server={label} tool={tool} canRun={canRun} />
      ))}
    </section>
  );
}

interface ToolProps {
  readonly server: string;
  readonly tool: Tool;
  readonly canRun: boolean;
}

function ToolView({ server, tool, canRun }: ToolProps) {
  return (
    <Fold class="tool" title={<ToolTitle tool={tool} />}>
      {() => (
        <>
          <Text of={tool.description} class="body" />
          {tool.lastError && (
            <p class="problem">
              <span class="when">{formatTime(tool.lastError.at)}</span> <Text of={tool.lastError.message} />
            </p>
          )}
          <div class="sides">
            {tool.schema !== '' && (
              <section>
                <h3>Schema</h3>
                <Box of={pretty(tool.schema)} label={`Schema of ${server} ${tool.name}`} />
              </section>
            )}
            {canRun && tool.canRun && <TryTool server={server} name={tool.name} schema={tool.schema} />}
          </div>
        </>
      )}
    </Fold>
  );
}

function ToolTitle({ tool }: { readonly tool: Tool }) {
  const { calls, failures, mean, longest } = tool;
  const notes = [
    tool.deferred ? 'deferred' : '',
    tool.requestedBy ? `for ${showHidden(tool.requestedBy)}` : '',
    tool.isOffered ? '' : 'not offered now',
  ].filter(Boolean);
  return (
    <>
      <strong class="mono">{showHidden(tool.name)}</strong>{' '}
      {notes.length > 0 && <span class="faint">{notes.join(', ')}</span>}
      <span class="about">{showHidden(tool.description.slice(0, 160))}</span>
      <span class="when">
        {calls > 0 && `${formatCount(calls)} × ${formatMs(mean)}`}
        {calls > 1 && `, longest ${formatMs(longest)}`}
        {failures > 0 && <span class="error"> {formatCount(failures)} failed</span>}
      </span>
    </>
  );
}
