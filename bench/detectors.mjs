/**
 * What detectors of personal data find in the labelled texts of test/policies/guards: `node bench/detectors.mjs [folder]`, over the
 * build. The folder has the packages that `pii` is compared with: in it, `npm install redact-pii @redactpii/node
 * libphonenumber-js`; those that are missing are left out.
 */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { pii } from 'express-open-responses/guards';

const labelled = JSON.parse(
  readFileSync(fileURLToPath(new URL('../test/policies/guards/labelled.json', import.meta.url)), 'utf8'),
);
const requireFrom = createRequire(join(resolve(process.argv[2] ?? '.'), 'package.json'));
const KINDS = ['EMAIL', 'PHONE', 'IBAN', 'CARD', 'KEY'];

/** Each returns the text without what it finds. */
const detectors = {
  pii: async () => {
    const { scan } = pii();
    return (text) => without(text, scan(text, 0, true).findings);
  },
  'redact-pii': async () => {
    const { SyncRedactor } = requireFrom('redact-pii');
    const redactor = new SyncRedactor({ builtInRedactors: { names: { enabled: false } } });
    return (text) => redactor.redact(text);
  },
  '@redactpii/node': async () => {
    const { Redactor } = await import(pathToFileURL(requireFrom.resolve('@redactpii/node')).href);
    const redactor = new Redactor({ rules: { EMAIL: true, PHONE: true, CREDIT_CARD: true, SSN: true } });
    return (text) => redactor.redact(text);
  },
  'libphonenumber-js': phones(),
  'libphonenumber-js, DE': phones('DE'),
};

function phones(country) {
  return async () => {
    const { findPhoneNumbersInText } = requireFrom('libphonenumber-js');
    return (text) => {
      const found = findPhoneNumbersInText(text, country);
      return without(
        text,
        found.map(({ startsAt, endsAt }) => ({ start: startsAt, end: endsAt })),
      );
    };
  };
}

function without(text, findings) {
  let shown = '';
  let at = 0;
  for (const { start, end } of findings) {
    shown += `${text.slice(at, start)}[-]`;
    at = end;
  }
  return shown + text.slice(at);
}

/** A value counts as found if it is no longer in the text. */
function rowOf(redact) {
  const found = Object.fromEntries(KINDS.map((kind) => [kind, [0, 0]]));
  let changed = 0;
  let plain = 0;
  for (const { text, find } of labelled) {
    const shown = redact(text);
    if (find.length === 0) {
      plain += 1;
      if (shown !== text) changed += 1;
    }
    for (const each of find) {
      const [kind] = each.split(' ', 1);
      found[kind][1] += 1;
      if (!shown.includes(each.slice(kind.length + 1))) found[kind][0] += 1;
    }
  }
  return [...KINDS.map((kind) => found[kind].join('/')), `${changed} of ${plain}`];
}

console.log(`| | ${KINDS.join(' | ')} | texts without data that it changed |`);
for (const [name, make] of Object.entries(detectors)) {
  const redact = await make().catch((error) => error);
  if (typeof redact === 'function') console.log(`| ${name} | ${rowOf(redact).join(' | ')} |`);
  else console.log(`| ${name} | left out: ${String(redact.message).split('\n', 1)[0]} |`);
}
