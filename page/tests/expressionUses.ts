import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const FOLDER = fileURLToPath(new URL("../src/", import.meta.url));

/** A place where an expression stands in the sources: `markdown/links.ts: /a+/g`, or how it is made at run time. */
export interface Use {
  place: string;
  /** The expression; null when it is only known at run time. */
  pattern: RegExp | null;
}

/** Return the expression that a call of RegExp makes of literals. */
function made({ arguments: given = [] as unknown as ts.NodeArray<ts.Expression> }: ts.NewExpression | ts.CallExpression): RegExp | null {
  const texts = given.map((one) => (ts.isStringLiteralLike(one) ? one.text : null));
  return texts[0] == null || texts.includes(null) ? null : new RegExp(texts[0], texts[1] ?? "");
}

const literal = (text: string) => new RegExp(text.slice(1, text.lastIndexOf("/")), text.slice(text.lastIndexOf("/") + 1));

/** Tell whether the name stands where it makes an expression or names a type, and hides none. */
const isPlain = (node: ts.Identifier) =>
  ts.isTypeReferenceNode(node.parent) || ((ts.isNewExpression(node.parent) || ts.isCallExpression(node.parent)) && node.parent.expression === node);

function found(file: string): Use[] {
  const source = ts.createSourceFile(file, readFileSync(FOLDER + file, "utf8"), ts.ScriptTarget.Latest, true);
  const uses: Use[] = [];
  const visit = (node: ts.Node): void => {
    const place = () => `${file}: ${node.getText(source)}`;
    if (ts.isRegularExpressionLiteral(node)) uses.push({ place: place(), pattern: literal(node.text) });
    else if ((ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText(source) === "RegExp") {
      uses.push({ place: place(), pattern: made(node) });
    } else if (ts.isIdentifier(node) && node.text === "RegExp" && !isPlain(node)) uses.push({ place: place(), pattern: null });
    ts.forEachChild(node, visit);
  };
  visit(source);
  return uses;
}

/** Return all expressions of the page's sources. */
export function collect(): Use[] {
  const files = readdirSync(FOLDER, { recursive: true, encoding: "utf8" }).filter((name) => /\.tsx?$/.test(name) && !name.endsWith(".d.ts"));
  return files.sort().flatMap(found);
}
