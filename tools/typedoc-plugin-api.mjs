/** Names each page after the entry that hosts import, and fails for an exported name or member without a comment. */
import { readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { Application, Comment, Converter, ReflectionKind, RendererEvent } from 'typedoc';
import { sources } from './api-entries.mjs';

const CHECKED =
  ReflectionKind.TypeAlias |
  ReflectionKind.Function |
  ReflectionKind.Variable |
  ReflectionKind.Class |
  ReflectionKind.Interface |
  ReflectionKind.Property |
  ReflectionKind.Method |
  ReflectionKind.Accessor;

export function load(app) {
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => nameModules(project));
  app.renderer.on(RendererEvent.END, ({ outputDirectory }) => {
    repairNames(outputDirectory);
    repairAnchors(outputDirectory);
  });
  app.on(Application.EVENT_VALIDATE_PROJECT, (project) => checkComments(project, app.logger));
}

/** A page begins with the first sentence of its source. */
function nameModules(project) {
  const entries = [...sources()];
  for (const module of project.getReflectionsByKind(ReflectionKind.Module)) {
    const [name, path] = entries.find(
      ([, path]) => path === `src/${module.name}.ts` || path === `src/${module.name}/index.ts`,
    );
    const [, sentence] = readFileSync(path, 'utf8').match(/^\/\*\* (.+) \*\/\n/) ?? [];
    module.name = name;
    if (sentence) module.comment = new Comment([{ kind: 'text', text: sentence }]);
  }
}

/** TypeDoc keeps the name of a page for a type of another one, such as `Webhooks`, though that has no page, and so numbers the page `webhooks`. */
function repairNames(folder) {
  const names = pagesIn(folder);
  for (const name of names) {
    const plain = name.replace(/-1\.md$/, '.md');
    if (names.includes(plain)) continue;
    renameSync(join(folder, name), join(folder, plain));
    for (const page of pagesIn(folder)) {
      const text = readFileSync(join(folder, page), 'utf8');
      writeFileSync(join(folder, page), text.replaceAll(basename(name), basename(plain)));
    }
  }
}

function pagesIn(folder) {
  return readdirSync(folder, { recursive: true }).filter((name) => name.endsWith('.md'));
}

/** TypeDoc counts a member `x` of `Y` as a heading `yx`, and so numbers the anchor of a type `YX`, which is the only heading of that name. */
function repairAnchors(folder) {
  const texts = new Map(pagesIn(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
  const numbered = /\]\(([^)#]*)#([\w-]+)-1\)/g;
  for (const [name, text] of texts) {
    const repaired = text.replace(numbered, (link, page, anchor) => {
      const headings = texts.get(page === '' ? name : join(dirname(name), page))?.match(headingOf(anchor)) ?? [];
      return headings.length === 1 ? `](${page}#${anchor})` : link;
    });
    if (repaired !== text) writeFileSync(join(folder, name), repaired);
  }
}

const headingOf = (anchor) => new RegExp(`^#+ ${anchor}(\\(\\)\\??)?$`, 'gim');

function checkComments(project, logger) {
  const bare = project.getReflectionsByKind(CHECKED).filter((it) => isPublic(it) && !isLiteral(it) && !hasComment(it));
  for (const reflection of new Set(bare.map((it) => it.getFriendlyFullName())))
    logger.validationWarning(`${reflection} has no TSDoc comment`);
}

/** The comment of a function also covers its parameters and its result. */
function isPublic(reflection) {
  for (let it = reflection; it; it = it.parent) if (it.kindOf(ReflectionKind.SomeSignature)) return false;
  return !reflection.flags.isExternal && !reflection.flags.isPrivate;
}

/** A discriminator such as `type: 'url'` needs no comment. */
function isLiteral({ type }) {
  return type?.type === 'literal';
}

function hasComment(reflection) {
  const signatures = [
    ...(reflection.signatures ?? []),
    ...(reflection.getSignature ? [reflection.getSignature] : []),
    ...(reflection.type?.type === 'reflection' ? (reflection.type.declaration.signatures ?? []) : []),
  ];
  return reflection.hasComment() || signatures.some((signature) => signature.hasComment());
}
