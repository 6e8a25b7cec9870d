import { Button, TextInput } from "@mantine/core";
import { useEffect, useRef, useState } from "react";
import { download } from "../api/bytes";
import { documents, documentUrl } from "../api/documents";
import type { Document, DocumentHit, Passage } from "../api/types";
import { Failure } from "../settings/Warning";
import { Dialog } from "../shell/Dialog";
import { SearchIcon } from "../shell/icons";
import classes from "./Documents.module.css";
import { aboutDocument, pageName, type DocumentPlace } from "./documents";
import { whyNotShown } from "./sentences";
import { useViewed, viewDocument } from "./viewing";

/** Passages that are fetched at a time, and how many of them before the place. */
const AT_ONCE = 60;
const BEFORE = 8;
const TYPED_MS = 250;

interface Text {
  document: Document;
  passages: readonly Passage[];
  /** The place that it was fetched for. */
  place: DocumentPlace;
}

/** Return the text around a place, and how to have more of it. */
function useText(place: DocumentPlace) {
  const [text, setText] = useState<Text | null>(null);
  const [problem, setProblem] = useState("");
  const { id, page, line } = place;
  useEffect(() => {
    let isGone = false;
    setProblem("");
    documents.text(id, { page, line, before: BEFORE, limit: AT_ONCE }).then(
      (found) => !isGone && setText({ ...found, place: { id, page, line } }),
      (error: unknown) => !isGone && setProblem(whyNotShown(error)),
    );
    return () => {
      isGone = true;
    };
  }, [id, page, line]);
  const more = (first: number, limit: number) =>
    void documents.text(id, { first, limit }).then(
      ({ passages }) =>
        setText((now) => {
          if (!now) return now;
          const known = new Map([...now.passages, ...passages].map((each) => [each.position, each]));
          return { ...now, passages: [...known.values()].sort((a, b) => a.position - b.position) };
        }),
      (error: unknown) => setProblem(whyNotShown(error)),
    );
  return { text, problem, more };
}

/** Tell whether a line is the place that was asked for: of a document without pages the line counts alone. */
const isPlace = (place: DocumentPlace, page: number | null, line: number) =>
  place.line > 0 && line === place.line && (page === null || page === (place.page || 1));

function PassageLines({ passage, place, before }: { passage: Passage; place: DocumentPlace; before: Passage | undefined }) {
  return (
    <>
      {passage.section && passage.section !== before?.section && <p className={classes.section}>{passage.section}</p>}
      {passage.text.split("\n").map((line, at) => (
        <div key={at} className={classes.line} {...(isPlace(place, passage.page, passage.line + at) && { "data-target": true })}>
          <span className={classes.number} aria-hidden>
            {passage.line + at}
          </span>
          <span className={classes.lineText}>{line || "\u00a0"}</span>
        </div>
      ))}
    </>
  );
}

interface LinesProps {
  text: Text;
  more: (first: number, limit: number) => void;
}

/** The text, with its pages and the numbers of its lines; the place that was asked for is in sight. */
function Lines({ text: { document, passages, place }, more }: LinesProps) {
  const box = useRef<HTMLDivElement>(null);
  const [first, last] = [passages[0]?.position ?? 0, passages.at(-1)?.position ?? 0];
  useEffect(() => {
    const target = box.current?.querySelector("[data-target]") ?? box.current?.querySelector(`[data-page="${place.page}"]`);
    target?.scrollIntoView({ block: "center" });
  }, [place]);
  return (
    <div ref={box} className={classes.text} role="region" tabIndex={0} aria-label={`Text of ${document.name}`}>
      {first > 0 && (
        <Button size="compact-sm" variant="default" onClick={() => more(Math.max(0, first - AT_ONCE), Math.min(first, AT_ONCE))}>
          Earlier
        </Button>
      )}
      {passages.map((passage, at) => (
        <section key={passage.position}>
          {passage.page !== null && passage.page !== passages[at - 1]?.page && (
            <h3 className={classes.page} data-page={passage.page}>
              {pageName(document.kind, passage.page)}
            </h3>
          )}
          <PassageLines passage={passage} place={place} before={passages[at - 1]} />
        </section>
      ))}
      {passages.length === 0 && <p className="ph-lead">There is no text in it.</p>}
      {last + 1 < document.passages && (
        <Button size="compact-sm" variant="default" onClick={() => more(last + 1, AT_ONCE)}>
          More
        </Button>
      )}
    </div>
  );
}

function Snippet({ hit }: { hit: DocumentHit }) {
  const letters = [...hit.snippet];
  let at = 0;
  const pieces = hit.ranges.map(({ start, end }) => {
    const before = letters.slice(at, start).join("");
    at = end;
    return (
      <span key={start}>
        {before}
        <mark>{letters.slice(start, end).join("")}</mark>
      </span>
    );
  });
  return (
    <>
      {pieces}
      {letters.slice(at).join("")}
    </>
  );
}

const placeOf = (hit: DocumentHit) =>
  hit.page === null ? `Line ${hit.line}` : `${pageName(hit.kind, hit.page)}, line ${hit.line}`;

/** Looks for something in one document; a hit leads to its place. */
function SearchIn({ id, onHit }: { id: string; onHit: (hit: DocumentHit) => void }) {
  const [query, setQuery] = useState("");
  const [found, setFound] = useState<{ query: string; hits: readonly DocumentHit[] } | null>(null);
  const [problem, setProblem] = useState("");
  useEffect(() => {
    const stop = new AbortController();
    const asked = query.trim();
    if (!asked) {
      setFound(null);
      return;
    }
    const timer = setTimeout(
      () =>
        documents.searchIn(id, asked, stop.signal).then(
          ({ hits }) => {
            setProblem("");
            setFound({ query: asked, hits });
          },
          (error: unknown) => !stop.signal.aborted && setProblem(whyNotShown(error)),
        ),
      TYPED_MS,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [id, query]);
  return (
    <>
      <TextInput
        aria-label="Search in this document"
        placeholder="Search in this document"
        leftSection={<SearchIcon size={16} />}
        value={query}
        onChange={(event) => setQuery(event.currentTarget.value)}
      />
      <Failure message={problem} />
      {found && (
        <ul className={classes.hits} aria-label="Found places">
          {found.hits.map((hit) => (
            <li key={`${hit.page} ${hit.line}`}>
              <button type="button" onClick={() => onHit(hit)}>
                <span className={classes.where}>{`${placeOf(hit)}${hit.similar ? " · similar" : ""}`}</span>
                <br />
                <Snippet hit={hit} />
              </button>
            </li>
          ))}
          {found.hits.length === 0 && <li className={classes.where}>Nothing was found.</li>}
        </ul>
      )}
    </>
  );
}

function View({ asked }: { asked: DocumentPlace }) {
  const [place, setPlace] = useState(asked);
  useEffect(() => setPlace(asked), [asked]);
  const { text, problem, more } = useText(place);
  return (
    <div className={classes.viewer}>
      {text && (
        <header>
          <strong>{text.document.name}</strong>
          <span className={classes.where}>{aboutDocument(text.document)}</span>
          <a className={classes.cite} {...download(documentUrl(text.document), text.document.name)}>
            Download
          </a>
          {text.document.note && <span className={classes.note}>{text.document.note}</span>}
        </header>
      )}
      <SearchIn id={place.id} onHit={({ page, line }) => setPlace({ id: place.id, page: page ?? 0, line })} />
      <Failure message={problem} />
      {text && <Lines text={text} more={more} />}
    </div>
  );
}

/** The text of a document, over the page. */
export default function Viewer() {
  const place = useViewed();
  return (
    <Dialog about={place} title={() => "Document"} onClose={() => viewDocument(null)} size="xl">
      {(about) => <View asked={about} />}
    </Dialog>
  );
}
