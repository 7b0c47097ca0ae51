/** Runs a tool with arguments that the reader types. */
import { useState } from 'preact/hooks';
import { ms, parsed, pretty } from './parts/format.tsx';
import { Box } from './parts/parts.tsx';

interface Props {
  readonly server: string;
  readonly name: string;
  readonly schema: string;
}

interface Outcome {
  readonly status: string;
  readonly isError: boolean;
  readonly text: string;
  readonly cut: number;
}

export function TryTool({ server, name, schema }: Props) {
  const [given, setGiven] = useState(() => JSON.stringify(exampleOf(parsed(schema) ?? {}), null, 2));
  const [outcome, setOutcome] = useState<Outcome>();
  const [isRunning, setRunning] = useState(false);
  const fields = parsed(given);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (!fields || isRunning) return;
    setRunning(true);
    setOutcome(await outcomeOf({ server, name, arguments: fields }));
    setRunning(false);
  };
  return (
    <form class="try" onSubmit={submit}>
      <h3>Try it</h3>
      <label>
        <span class="hidden">Arguments of {name}</span>
        <textarea
          rows={Math.min(given.split('\n').length + 1, 14)}
          spellcheck={false}
          value={given}
          aria-invalid={!fields}
          onInput={({ currentTarget }) => setGiven(currentTarget.value)}
        />
      </label>
      <div class="bar">
        <button type="submit" class="primary" disabled={!fields || isRunning}>
          Run
        </button>
        <span role="status" class={outcome?.isError ? 'error' : 'faint'}>
          {statusOf(fields !== undefined, isRunning, outcome)}
        </span>
      </div>
      {outcome && !isRunning && <Box of={pretty(outcome.text)} cut={outcome.cut} label={`Result of ${name}`} />}
    </form>
  );
}

function statusOf(isJson: boolean, isRunning: boolean, outcome: Outcome | undefined): string {
  if (!isJson) return 'This is not JSON.';
  return isRunning ? 'Running …' : (outcome?.status ?? 'It runs on the server, as it does for a model.');
}

async function outcomeOf(call: object): Promise<Outcome> {
  try {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch('api/tools/run', { method: 'POST', headers, body: JSON.stringify(call) });
    const { error, text, isError, durationMs, cut } = await response.json();
    if (error) return { status: 'It was not run.', isError: true, text: String(error), cut: 0 };
    return { status: `${isError ? 'Failed' : 'Done'} after ${ms(durationMs)}`, isError, text, cut };
  } catch {
    return { status: 'The server cannot be reached.', isError: true, text: '', cut: 0 };
  }
}

type Schema = Readonly<Record<string, unknown>>;

const EXAMPLES: Readonly<Record<string, unknown>> = { string: '', integer: 0, number: 0, boolean: false, array: [] };

/** An object with the members that the schema requires. */
function exampleOf({ properties, required }: Schema): object {
  const names = Array.isArray(required) ? required.map(String) : [];
  const known = (properties ?? {}) as Readonly<Record<string, Schema>>;
  return Object.fromEntries(names.map((name) => [name, sampleOf(known[name] ?? {})]));
}

function sampleOf(schema: Schema): unknown {
  if ('default' in schema) return schema.default;
  if (Array.isArray(schema.enum)) return schema.enum[0];
  return schema.type === 'object' ? exampleOf(schema) : (EXAMPLES[String(schema.type)] ?? '');
}
