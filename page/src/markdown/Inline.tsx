import type { Token, Tokens } from "marked";
import type { ReactNode } from "react";
import { Citation } from "../documents/Citation";
import { citedPlace } from "../documents/documents";
import { decodeEntities } from "./entities";
import { namesHost, safeLink } from "./links";
import { rasterUrl } from "./raster";
import classes from "./Markdown.module.css";

/** A link that shows where it really leads; one that may lead nowhere stays text. */
function Link({ token }: { token: Tokens.Link }) {
  const text = <Inline tokens={token.tokens} />;
  const cited = citedPlace(token.href);
  if (cited) return <Citation place={cited}>{text}</Citation>;
  const link = safeLink(token.href);
  if (!link) return <span title="This link was not made clickable.">{text}</span>;
  return (
    <>
      <a href={link.href} title={link.href} target="_blank" rel="noopener noreferrer">
        {text}
      </a>
      {!namesHost(token.text, link.host) && <span className={classes.host}> ({link.host})</span>}
    </>
  );
}

/** An image: shown when it is part of the text, a link to its host when it would have to be fetched. */
function Picture({ token }: { token: Tokens.Image }) {
  const alt = decodeEntities(token.text);
  const embedded = /^data:image\/(?:png|jpeg|gif|webp);base64,([A-Za-z0-9+/=]+)$/.exec(token.href)?.[1];
  const url = embedded ? rasterUrl(embedded) : null;
  if (url) return <img className={classes.picture} src={url} alt={alt} />;
  const link = safeLink(token.href);
  if (!link) return <span className={classes.placeholder}>Image{alt && `: ${alt}`}</span>;
  return (
    <a className={classes.placeholder} href={link.href} title={link.href} target="_blank" rel="noopener noreferrer">
      Image{alt && `: ${alt}`} <span className={classes.host}>({link.host})</span>
    </a>
  );
}

/** Markup in a text is shown as it is written; only a line break means what it says. */
function Markup({ raw }: { raw: string }) {
  return /^<br\s*\/?>$/i.test(raw.trim()) ? <br /> : <>{raw}</>;
}

function nested(token: Token): ReactNode {
  return <Inline tokens={("tokens" in token && token.tokens) || []} />;
}

function draw(token: Token): ReactNode {
  switch (token.type) {
    case "strong":
      return <strong>{nested(token)}</strong>;
    case "em":
      return <em>{nested(token)}</em>;
    case "del":
      return <del>{nested(token)}</del>;
    case "codespan":
      return <code className={classes.inlineCode}>{(token as Tokens.Codespan).text}</code>;
    case "formula":
      return <span className={classes.formula}>{(token as Tokens.Generic).text as string}</span>;
    case "br":
      return <br />;
    case "link":
      return <Link token={token as Tokens.Link} />;
    case "image":
      return <Picture token={token as Tokens.Image} />;
    case "html":
      return <Markup raw={token.raw} />;
    case "checkbox":
      return <Checkbox checked={(token as Tokens.Checkbox).checked} />;
    case "escape":
      return (token as Tokens.Escape).text;
    case "text":
      return "tokens" in token && token.tokens ? nested(token) : decodeEntities((token as Tokens.Text).text);
    default:
      return token.raw;
  }
}

/** A box of a task list; it says its state and cannot be changed here. */
export function Checkbox({ checked }: { checked: boolean }) {
  return <input type="checkbox" checked={checked} readOnly disabled aria-label={checked ? "Done" : "Not done"} />;
}

/** Text with emphasis, links and code. */
export function Inline({ tokens }: { tokens: readonly Token[] }) {
  return tokens.map((token, at) => <Piece key={at} token={token} />);
}

function Piece({ token }: { token: Token }) {
  return <>{draw(token)}</>;
}
