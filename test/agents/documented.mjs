/** The settings and the commands of docs/clients.md, docs/messages.md and docs/mcp.md, as they stand there: an agent is started with nothing else but what lets it work unattended. */
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const PROMPT = 'Make made.txt.';
const ADD_MS = 60_000;
const ADDRESSES = /http:\/\/localhost:3000|https:\/\/ai\.example\.com/g;

/** The first block of this language below the heading, or the line, with the address of this run. */
function block(page, heading, language, url) {
  const text = readFileSync(join(import.meta.dirname, '../../docs', page), 'utf8');
  const [, section = ''] = text.split(`${heading}\n`);
  const [, found] = section.match(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, 'ms')) ?? [];
  if (found === undefined) throw new Error(`docs/${page} has no ${language} below ${heading}`);
  return found.replaceAll(ADDRESSES, url.replace(/\/v1$/, ''));
}

/** A line such as `KEY=value program --flag value`. */
function commandIn(line) {
  const words = line.trim().split(' ');
  const variables = words.filter((word) => /^[A-Z_]+=/.test(word));
  const [program, ...args] = words.slice(variables.length);
  return { program, args, env: Object.fromEntries(variables.map((word) => word.split(/=(.*)/s).slice(0, 2))) };
}

/** `config.toml`, and the command that reads its key from the environment. */
export function codex(program) {
  return ({ home, work, url }) => {
    writeFileSync(join(home, 'config.toml'), block('clients.md', '### Codex', 'toml', url));
    const command = commandIn(block('clients.md', '### Codex', 'sh', url));
    const flags = ['--skip-git-repo-check', '--ephemeral', '--dangerously-bypass-approvals-and-sandbox'];
    const args = ['exec', ...command.args, ...flags, '--disable', 'plugins', '-C', work, '--json', PROMPT];
    return { program: program(command), args, env: { ...command.env, CODEX_HOME: home } };
  };
}

/** Starts the program of docs/npx.md in front of the API, and then Codex by the line that the program prints. */
const PRINTED = `
"$NODE" "$PROGRAM" --port 0 --upstream "$UPSTREAM" > "$HOME/printed" &
trap "kill $!" EXIT
until grep -q '^Codex:' "$HOME/printed"; do sleep 0.1; done
line=$(grep -A1 '^Codex:' "$HOME/printed" | tail -n 1 | sed 's/^ *codex //')
eval "\\"$CODEX\\" exec $FLAGS $line \\"$PROMPT\\""
`;

/** The line for Codex that `npx express-open-responses` prints. */
export function printedCodex(program) {
  return ({ home, work, url }) => {
    const flags = `--skip-git-repo-check --ephemeral --dangerously-bypass-approvals-and-sandbox --disable plugins -C ${work} --json`;
    const env = {
      ...{
        NODE: process.execPath,
        PROGRAM: join(import.meta.dirname, '../../dist/cjs/hosts/cli/bin.js'),
        UPSTREAM: url,
      },
      ...{ CODEX: program({ program: 'codex' }), CODEX_HOME: home, FLAGS: flags, PROMPT },
    };
    return { program: 'bash', args: ['-e', '-c', PRINTED], env };
  };
}

/** The variables and the model of the command, which both pages have. */
export function claude(program, page, heading) {
  return ({ home, url }) => {
    const command = commandIn(block(page, heading, 'sh', url));
    const flags = ['--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'];
    const env = {
      ...command.env,
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      CLAUDE_CONFIG_DIR: home,
      DISABLE_AUTOUPDATER: '1',
      IS_SANDBOX: '1',
    };
    return { program: program(command), args: [...command.args, '-p', PROMPT, ...flags], env };
  };
}

/** `opencode.json` in the folder where it works. */
export function opencode(program) {
  return ({ work, url }) => {
    writeFileSync(join(work, 'opencode.json'), block('clients.md', '### opencode', 'json', url));
    const env = { OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_AUTOUPDATE: '1' };
    return { program: program({ program: 'opencode' }), args: ['run', '--format', 'json', PROMPT], env };
  };
}

/** `models.json` in the folder that the page names, and the flags of the page. */
export function pi(program) {
  return ({ home, url }) => {
    const folder = join(home, '.pi/agent');
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'models.json'), block('clients.md', '### pi', 'json', url));
    const flags = ['--provider', 'mine', '--model', 'my-model', '--no-session', '--offline', '--mode', 'json'];
    return {
      program: process.execPath,
      args: [program({ program: 'pi' }), ...flags, '-p', PROMPT],
      env: { PI_OFFLINE: '1' },
    };
  };
}

/** What lets each agent work unattended, behind the `--` of `run`. */
const UNATTENDED = {
  codex: ({ work }) => [
    ...['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', '--disable', 'plugins'],
    ...['-C', work, '--json', PROMPT],
  ],
  claude: () => ['-p', PROMPT, '--output-format', 'stream-json', '--verbose', '--dangerously-skip-permissions'],
  opencode: () => ['run', '--format', 'json', PROMPT],
  pi: () => ['--no-session', '--mode', 'json', '-p', PROMPT],
};

/** `express-open-responses run`, with nothing set but the model server, and the agent on PATH. */
export function launched(program, name) {
  return ({ home, work, url }) => {
    const bin = join(home, 'bin');
    mkdirSync(bin);
    const path = program({ program: name });
    const start = name === 'pi' ? `"${process.execPath}" "${path}"` : `"${path}"`;
    writeFileSync(join(bin, name), `#!/bin/sh\nexec ${start} "$@"\n`, { mode: 0o755 });
    const args = [join(import.meta.dirname, '../../dist/cjs/hosts/cli/bin.js'), 'run', name, '--upstream', url];
    const env = { PATH: `${bin}:${process.env.PATH}`, IS_SANDBOX: '1' };
    return {
      program: process.execPath,
      args: [...args, '--model', 'my-model', '--', ...UNATTENDED[name]({ work })],
      env,
    };
  };
}

/** What is in docs/mcp.md for each client below its line, with this key. */
const mcpLines = { codex: '**Codex**, in `~/.codex/config.toml`:', opencode: '**opencode**, in `opencode.json`:' };
const CLAUDE_LINE = "**Claude Code**, for all of a user's projects; without `--scope user` for one:";

/** The company's MCP server in the settings of Codex, which then runs as `start` says. */
export function codexWithMcp(start, key) {
  return (place) => {
    writeFileSync(join(place.home, 'config.toml'), block('mcp.md', mcpLines.codex, 'toml', place.url));
    const { env, ...command } = start(place);
    return { ...command, env: { ...env, COMPANY_KEY: key } };
  };
}

/** The same of Claude Code, which adds the server itself. */
export function claudeWithMcp(start, key) {
  return (place) => {
    const command = start(place);
    const line = block('mcp.md', CLAUDE_LINE, 'sh', place.url)
      .replace('KEY', key)
      .replace(/^claude /, '"$CLAUDE" ');
    const env = { PATH: process.env.PATH, HOME: place.home, ...command.env, CLAUDE: command.program };
    execFileSync('sh', ['-c', line], { cwd: place.work, env, stdio: 'pipe', timeout: ADD_MS });
    return command;
  };
}

/** The same of opencode, in the settings of its folder. */
export function opencodeWithMcp(start, key) {
  return (place) => {
    const settings = block('mcp.md', mcpLines.opencode, 'text', place.url).replace('KEY', key);
    writeFileSync(join(place.work, 'opencode.json'), settings);
    return start(place);
  };
}
