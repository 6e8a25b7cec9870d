import { Anchor, Button, Loader } from "@mantine/core";
import { useState, type ReactNode } from "react";
import { download, partUrl, useBytes } from "../api/bytes";
import { api, errorText } from "../api/client";
import type { CallItem, ResultPart } from "../api/types";
import { argumentsOf } from "../chat/data";
import { Fold } from "../chat/Fold";
import { LongText } from "../chat/LongText";
import { Picture } from "../chat/Picture";
import { size } from "../chat/words";
import { JsonTree } from "../json/JsonTree";
import { safeLink } from "../markdown/links";
import { CopyButton } from "../shell/CopyButton";
import { useGetState } from "../store/store";
import { leftOut, parsed, remarks, shownParts, whose } from "./call";
import classes from "./Calls.module.css";
import { decisionOf } from "./decision";
import { FoundTools } from "./FoundTools";
import { phaseIcons, phaseOf, toneOf } from "./phases";
import { shownOf } from "./shown";
import { SummaryMade } from "./Summary";

function Labelled({ label, copy, children }: { label: string; copy?: string; children: ReactNode }) {
  return (
    <div className={classes.labelled}>
      <div className="ph-label">
        <span>{label}</span>
        {copy !== undefined && <CopyButton value={copy} label={`Copy ${label.toLowerCase()}`} />}
      </div>
      {children}
    </div>
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

/** What the tool was called with. */
function Arguments({ item }: { item: CallItem }) {
  const source = argumentsOf(item);
  if (source === "{}") return <p className={classes.quiet}>Called without arguments.</p>;
  return source ? <Words source={source} label="Arguments" /> : null;
}

/** As much of the line as reading leaves to it. */
const PICTURE = { width: 640, height: 320 };
/** One that a person asked for has the width of the conversation. */
const MADE = { width: 760, height: 760 };

/** Where something is, spelled as it is opened: what only looks like another host does not, in this. */
function Place({ part }: { part: ResultPart }) {
  const link = safeLink(part.uri);
  return (
    <p className={classes.place}>
      {part.name && <span>{part.name}</span>}
      {link ? (
        <Anchor inherit href={link.href} target="_blank" rel="noreferrer noopener">
          {link.href}
        </Anchor>
      ) : (
        <code>{part.uri}</code>
      )}
    </p>
  );
}

function Binary({ itemId, part }: { itemId: string; part: ResultPart }) {
  return (
    <p className={classes.place}>
      <Anchor inherit {...download(partUrl(itemId, part.index), part.name || "result")}>
        {part.name || part.uri || "Download"}
      </Anchor>
      <span>{[part.mediaType, size(part.bytes)].filter(Boolean).join(", ")}</span>
    </p>
  );
}

/** A picture that a tool drew. */
export function Drawn({ itemId, part, isMade = false }: { itemId: string; part: ResultPart; isMade?: boolean }) {
  const around = (url: string, image: ReactNode) => (
    <a href={url} target="_blank" rel="noreferrer noopener" className={classes.picture}>
      {image}
    </a>
  );
  return <Picture itemId={itemId} part={part} alt={part.name || "What the tool drew"} box={isMade ? MADE : PICTURE} around={around} />;
}

function Sound({ itemId, part }: { itemId: string; part: ResultPart }) {
  const { url } = useBytes(partUrl(itemId, part.index));
  return (
    <>
      {url && <audio className={classes.sound} controls src={url} />}
      <Binary itemId={itemId} part={part} />
    </>
  );
}

function Resource({ itemId, part }: { itemId: string; part: ResultPart }) {
  if (!part.text) return <Binary itemId={itemId} part={part} />;
  return (
    <>
      <Place part={part} />
      <Words source={part.text} label="Content" />
    </>
  );
}

/** One piece of a result, drawn by what it is. */
function Part({ itemId, part }: { itemId: string; part: ResultPart }) {
  switch (part.kind) {
    case "image":
      return (
        <Labelled label={`Image, ${size(part.bytes)}`}>
          <Drawn itemId={itemId} part={part} />
        </Labelled>
      );
    case "link":
      return (
        <Labelled label="Link">
          <Place part={part} />
          {part.text && <p className={classes.quiet}>{part.text}</p>}
        </Labelled>
      );
    case "audio":
      return (
        <Labelled label="Sound">
          <Sound itemId={itemId} part={part} />
        </Labelled>
      );
    case "resource":
      return (
        <Labelled label="Resource">
          <Resource itemId={itemId} part={part} />
        </Labelled>
      );
    case "json":
      return part.text ? <Words source={part.text} label="Structured result" /> : null;
    default:
      return part.text ? <Words source={part.text} label="Result" /> : null;
  }
}

interface DetailsProps {
  item: CallItem;
  /** Whether its pictures stand elsewhere. */
  isDrawn: boolean;
}

type Whole = { state: "asked" } | { state: "here"; parts: ResultPart[] } | { state: "failed"; why: string };

/** What the tool gave: what the timeline holds, and all that was kept when asked for. */
function Result({ item, isDrawn }: DetailsProps) {
  const [whole, setWhole] = useState<Whole | null>(null);
  const load = () => {
    setWhole({ state: "asked" });
    api.result(item.id).then(
      (result) => setWhole({ state: "here", parts: result.parts }),
      (error: unknown) => setWhole({ state: "failed", why: errorText(error) }),
    );
  };
  const given = whole?.state === "here" ? whole.parts : shownParts(item);
  const parts = given.filter(({ kind }) => !(isDrawn && kind === "image"));
  const missing = leftOut(item);
  const { cut } = item.data;
  return (
    <>
      {parts.map((part) => (
        // Drawn anew once all of it is here: a text may have become a tree.
        <Part key={`${part.index} ${whole?.state === "here"}`} itemId={item.id} part={part} />
      ))}
      {missing > 0 && (whole === null || whole.state === "failed") && (
        <Button size="compact-xs" variant="default" onClick={load}>
          {`Show the full result (${size(missing)})`}
        </Button>
      )}
      {whole?.state === "asked" && <Loader size="xs" aria-label="Fetching the full result" />}
      {whole?.state === "failed" && <p className={classes.problem}>{whole.why}</p>}
      {cut && (
        <p className={classes.quiet}>The result was larger than what is kept; its middle, or a file, is missing.</p>
      )}
    </>
  );
}

/** What the tool says it does, point by point. */
function Told({ item }: { item: CallItem }) {
  const details = shownOf(item)?.details ?? [];
  if (!details.length) return null;
  return (
    <ul className={classes.told} aria-label="Details">
      {details.map((detail, at) => (
        <li key={at}>{detail}</li>
      ))}
    </ul>
  );
}

/** Everything about a call: whose it is, what it was given, what it gave. */
export function CallDetails({ item, isDrawn }: DetailsProps) {
  const now = useGetState();
  const decision = decisionOf(item, now().open?.items.values());
  const { askedArguments } = item.data;
  const words = whose(item, now().builtInTools);
  const phase = phaseOf(item);
  const result = <Result item={item} isDrawn={isDrawn} />;
  return (
    <>
      <p className={`ph-with-icon ${classes.sentence}`} data-tone={toneOf(phase)}>
        {phaseIcons[phase]}
        <span>{phase === "completed" ? `${words}: done` : words}</span>
      </p>
      {decision && <p className={classes.quiet}>{decision}</p>}
      <Told item={item} />
      <Arguments item={item} />
      {askedArguments && (
        <>
          <p className={classes.quiet}>You changed what the model asked for:</p>
          <Words source={JSON.stringify(askedArguments, null, 2)} label="Asked for" />
        </>
      )}
      <SummaryMade item={item} />
      <FoundTools item={item} />
      {item.data.found?.length ? <Fold summary="What the model was given">{() => result}</Fold> : result}
      {remarks(item).map((remark) => (
        <p key={remark} className={classes.quiet}>
          {remark}
        </p>
      ))}
    </>
  );
}
