/** Reads the types of the newest `openai` package: the fields of an interface, and the `type`s of a union's members. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import ts from '../../tools/node_modules/typescript/lib/typescript.js';

type Declaration = ts.InterfaceDeclaration | ts.TypeAliasDeclaration;

const RESOURCES = join(import.meta.dirname, 'node_modules/openai7/resources');

/** The declarations of one or several files, by their names with those of their namespaces: `Tool.Mcp`. */
export class OpenAITypes {
  /** The source of all files. */
  readonly text: string;
  private readonly declarations = new Map<string, Declaration>();
  private readonly repeated = new Set<string>();

  /** Paths below `resources`. A name that is declared twice cannot be looked up, since it could mean either. */
  constructor(...paths: readonly string[]) {
    const texts = paths.map((path) => readFileSync(join(RESOURCES, path), 'utf8'));
    this.text = texts.join('\n');
    for (const [index, text] of texts.entries()) {
      this.collect(ts.createSourceFile(`${index}.d.ts`, text, ts.ScriptTarget.Latest, true), '');
    }
  }

  /** The names of an interface's fields, its parents' included. */
  fieldsOf(name: string): readonly string[] {
    return [...this.members(name, '').keys()].toSorted();
  }

  /** The values of a field that is a text or one of several: the `type`s of a tool, for example. */
  valuesOf(name: string, field: string): readonly string[] {
    return [...new Set(this.fieldValues(name, '', field))].toSorted();
  }

  /** The texts of a union of texts. */
  textsOf(name: string): readonly string[] {
    const declared = this.find(name, '');
    if (!ts.isTypeAliasDeclaration(declared.node)) throw new Error(`${name} is no union`);
    return textsIn(declared.node.type).toSorted();
  }

  private collect(node: ts.Node, prefix: string): void {
    node.forEachChild((child) => {
      if (ts.isInterfaceDeclaration(child)) this.declare(prefix + child.name.text, child);
      // An alias beside an interface of its name, or one that only repeats another name, adds nothing.
      else if (ts.isTypeAliasDeclaration(child) && !isRepetition(child)) this.declare(prefix + child.name.text, child);
      else if (ts.isModuleDeclaration(child) && child.body) this.collect(child.body, `${prefix}${child.name.text}.`);
    });
  }

  private declare(name: string, node: Declaration): void {
    if (this.declarations.has(name)) this.repeated.add(name);
    this.declarations.set(name, node);
  }

  /** Looks a name up as TypeScript does, from the inside to the outside; imports have the names of the modules. */
  private find(name: string, inside: string): { readonly name: string; readonly node: Declaration } {
    const bare = name.replace(/^(?:\w+API|Shared)\./, '');
    for (let place = inside; ; place = place.slice(0, Math.max(place.lastIndexOf('.'), 0))) {
      const full = place === '' ? bare : `${place}.${bare}`;
      const node = this.declarations.get(full);
      if (this.repeated.has(full)) throw new Error(`${full} is declared twice`);
      if (node) return { name: full, node };
      if (place === '') throw new Error(`${name} is not declared`);
    }
  }

  private members(name: string, inside: string): ReadonlyMap<string, ts.TypeNode> {
    const { name: full, node } = this.find(name, inside);
    if (!ts.isInterfaceDeclaration(node)) throw new Error(`${full} is no interface`);
    const members = new Map<string, ts.TypeNode>();
    for (const parent of node.heritageClauses?.flatMap(({ types }) => types) ?? [])
      for (const [field, type] of this.members(parent.expression.getText(), full)) members.set(field, type);
    for (const member of node.members) {
      if (!ts.isPropertySignature(member) || !member.type) throw new Error(`${full} has ${member.getText()}`);
      members.set(member.name.getText(), member.type);
    }
    return members;
  }

  private fieldValues(name: string, inside: string, field: string): readonly string[] {
    const { name: full, node } = this.find(name, inside);
    if (ts.isInterfaceDeclaration(node)) {
      const type = this.members(full, '').get(field);
      if (!type) throw new Error(`${full} has no ${field}`);
      return textsIn(type);
    }
    const members: readonly ts.TypeNode[] = ts.isUnionTypeNode(node.type) ? node.type.types : [node.type];
    return members.flatMap((member) => {
      if (!ts.isTypeReferenceNode(member)) throw new Error(`${full} has the member ${member.getText()}`);
      return this.fieldValues(member.typeName.getText(), full, field);
    });
  }
}

/** The texts of a type that consists of texts, and of null. Throws for any other. */
function textsIn(type: ts.TypeNode): readonly string[] {
  const members = ts.isUnionTypeNode(type) ? type.types : [type];
  return members.flatMap((member) => {
    if (!ts.isLiteralTypeNode(member)) throw new Error(`Not a text: ${member.getText()}`);
    return ts.isStringLiteral(member.literal) ? [member.literal.text] : [];
  });
}

function isRepetition({ name, type }: ts.TypeAliasDeclaration): boolean {
  return ts.isTypeReferenceNode(type) && type.typeName.getText().split('.').at(-1) === name.text;
}
