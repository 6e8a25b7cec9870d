import { Anchor, Button, Loader } from "@mantine/core";
import { useState } from "react";
import { api, errorText } from "../api/client";
import type { Item } from "../api/types";
import { argumentsOf } from "../chat/data";
import { LongText } from "../chat/LongText";
import { size } from "../chat/words";
import { JsonTree } from "../json/JsonTree";
import { safeLink } from "../markdown/links";
import { CopyButton } from "../shell/CopyButton";
import { isCut, parsed, partsOf, type ResultPart } from "./call";
import classes from "./Calls.module.css";

function Labelled({ label, copy, children }: { label: string; copy: string; children: React.ReactNode }) {
  return (
    <div className={classes.labelled}>
      <div className={classes.label}>
        <span>{label}</span>
        <CopyButton value={copy} label={`Copy ${label.toLowerCase()}`} />
      </div>
      {children}
    </div>
  );
}

/** What the tool was called with. */
export function Arguments({ item }: { item: Item }) {
  const source = argumentsOf(item);
  const value = item.data.arguments;
  if (typeof value !== "object" || value === null) return <LongText text={source} label="Arguments" />;
  return (
    <Labelled label="Arguments" copy={source}>
      <JsonTree value={value} label="Arguments" />
    </Labelled>
  );
}

const partUrl = (itemId: string, index: number) => `/api/calls/${encodeURIComponent(itemId)}/parts/${index}`;

function Place({ part }: { part: ResultPart }) {
  const link = safeLink(part.uri);
  const name = part.name || part.uri || "Resource";
  return (
    <p className={classes.place}>
      <span>{name}</span>
      {link ? (
        <Anchor href={link.href} target="_blank" rel="noreferrer noopener">
          {link.host}
        </Anchor>
      ) : (
        part.uri && part.uri !== name && <code>{part.uri}</code>
      )}
    </p>
  );
}

function Binary({ itemId, part }: { itemId: string; part: ResultPart }) {
  return (
    <p className={classes.place}>
      <Anchor href={partUrl(itemId, part.index)} download={part.name || "result"}>
        {part.name || part.uri || "Download"}
      </Anchor>
      <span className={classes.quiet}>{[part.mediaType, size(part.bytes)].filter(Boolean).join(", ")}</span>
    </p>
  );
}

function Picture({ itemId, part }: { itemId: string; part: ResultPart }) {
  const label = part.name || `Image in the result, ${size(part.bytes)}`;
  return (
    <a href={partUrl(itemId, part.index)} target="_blank" rel="noreferrer noopener" className={classes.picture}>
      <img src={partUrl(itemId, part.index)} alt={label} loading="lazy" />
    </a>
  );
}

function Words({ source, label }: { source: string; label: string }) {
  const value = parsed(source);
  if (value === undefined) return <LongText text={source} label={label} />;
  return (
    <Labelled label={label} copy={source}>
      <JsonTree value={value} label={label} />
    </Labelled>
  );
}

/** One piece of a result, drawn by what it is. */
export function Part({ itemId, part }: { itemId: string; part: ResultPart }) {
  switch (part.kind) {
    case "image":
      return <Picture itemId={itemId} part={part} />;
    case "link":
      return <Place part={part} />;
    case "audio":
      return (
        <>
          <audio className={classes.sound} controls preload="none" src={partUrl(itemId, part.index)} />
          <Binary itemId={itemId} part={part} />
        </>
      );
    case "resource":
      return part.text ? (
        <>
          <Place part={part} />
          <Words source={part.text} label="Resource" />
        </>
      ) : (
        <Binary itemId={itemId} part={part} />
      );
    case "json":
      return <Words source={part.text} label="Structured result" />;
    default:
      return <Words source={part.text} label="Result" />;
  }
}

type Whole = { state: "asked" } | { state: "here"; parts: ResultPart[]; cut: boolean } | { state: "failed"; why: string };

/** What the tool gave: what the timeline holds, and all that was kept when asked for. */
export function Result({ item }: { item: Item }) {
  const [whole, setWhole] = useState<Whole | null>(null);
  const load = () => {
    setWhole({ state: "asked" });
    api.result(item.id).then(
      (result) => setWhole({ state: "here", parts: result.parts, cut: result.cut ?? false }),
      (error: unknown) => setWhole({ state: "failed", why: errorText(error) }),
    );
  };
  const kept = partsOf(item);
  const parts = whole?.state === "here" ? whole.parts : kept;
  if (!parts.length) return item.text ? <Words source={item.text} label="Result" /> : null;
  return (
    <>
      {parts.map((part) => (
        <Part key={part.index} itemId={item.id} part={part} />
      ))}
      {isCut(item) && whole === null && (
        <Button size="compact-xs" variant="subtle" color="gray" onClick={load}>
          Show the full result
        </Button>
      )}
      {whole?.state === "asked" && <Loader size="xs" aria-label="Fetching the full result" />}
      {whole?.state === "failed" && <p className={classes.problem}>{whole.why}</p>}
      {whole?.state === "here" && whole.cut && (
        <p className={classes.quiet}>The result was larger than what is kept; this is its beginning and its end.</p>
      )}
    </>
  );
}
