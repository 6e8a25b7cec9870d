import { useState } from "react";
import { ChevronIcon } from "../shell/icons";
import classes from "./JsonTree.module.css";

/** Entries drawn at once; a longer list opens piece by piece. */
const PAGE = 100;
const LONG_STRING = 600;

type Json = unknown;

const isBranch = (value: Json): value is object => typeof value === "object" && value !== null;

function entriesOf(value: object): [string, Json][] {
  return Array.isArray(value) ? value.map((entry, at) => [String(at), entry]) : Object.entries(value);
}

/** Names that a closed object shows. */
const NAMES = 5;

/** Return a branch in few words: "[3]", "{city, days}". */
export function brief(value: object): string {
  if (Array.isArray(value)) return `[${value.length || ""}]`;
  const names = Object.keys(value);
  return `{${names.slice(0, NAMES).join(", ")}${names.length > NAMES ? ", …" : ""}}`;
}

function Leaf({ value }: { value: Json }) {
  const [isWhole, setWhole] = useState(false);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const isLong = text.length > LONG_STRING && !isWhole;
  return (
    <span className={classes.leaf} data-type={value === null ? "null" : typeof value}>
      {typeof value === "string" ? `"${isLong ? text.slice(0, LONG_STRING) : text}"` : text}
      {isLong && (
        <button type="button" className={classes.more} onClick={() => setWhole(true)}>
          {`… ${text.length - LONG_STRING} more characters`}
        </button>
      )}
    </span>
  );
}

/** Nodes up to which all of a tree stands open. */
const SMALL = 40;

/** Count nodes, and no further than to know that a tree is not small. */
function nodes(value: Json, most: number): number {
  if (!isBranch(value)) return 1;
  let count = 1;
  for (const entry of Object.values(value)) {
    count += nodes(entry, most - count);
    if (count > most) break;
  }
  return count;
}

interface EntriesProps {
  value: object;
  /** How many levels stand open. */
  open: number;
}

function Entries({ value, open }: EntriesProps) {
  const [shown, setShown] = useState(PAGE);
  const entries = entriesOf(value);
  return (
    <ul className={classes.children}>
      {entries.slice(0, shown).map(([key, entry]) => (
        <li key={key}>
          <Node name={key} value={entry} open={open - 1} />
        </li>
      ))}
      {entries.length > shown && (
        <li>
          <button type="button" className={classes.more} onClick={() => setShown(shown + PAGE)}>
            {`${entries.length - shown} more`}
          </button>
        </li>
      )}
    </ul>
  );
}

function Branch({ name, value, open }: EntriesProps & { name: string }) {
  const [isOpen, setOpen] = useState(open > 0);
  return (
    <>
      <button type="button" className={classes.line} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        <span className={classes.chevron} data-open={isOpen || undefined}>
          <ChevronIcon size={12} />
        </span>
        <span className={classes.name}>{name}:</span>
        {!isOpen && <span className={classes.brief}>{brief(value)}</span>}
      </button>
      {isOpen && <Entries value={value} open={open} />}
    </>
  );
}

function Node({ name, value, open }: { name: string; value: Json; open: number }) {
  if (isBranch(value) && Object.keys(value).length > 0) return <Branch name={name} value={value} open={open} />;
  return (
    <span className={classes.line}>
      <span className={classes.chevron} />
      <span className={classes.name}>{name}:</span>
      {isBranch(value) ? <span className={classes.brief}>{brief(value)}</span> : <Leaf value={value} />}
    </span>
  );
}

/** Data as a tree that opens; nothing in it is drawn before it is looked at. */
export function JsonTree({ value, label }: { value: Json; label: string }) {
  return (
    <div className={`ph-code ${classes.tree}`} role="group" aria-label={label}>
      {isBranch(value) && Object.keys(value).length > 0 ? (
        <Entries value={value} open={nodes(value, SMALL) > SMALL ? 2 : SMALL} />
      ) : (
        <span className={classes.brief}>{JSON.stringify(value)}</span>
      )}
    </div>
  );
}
