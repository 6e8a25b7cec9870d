import { Button, PasswordInput, Radio, TextInput } from "@mantine/core";
import { useEffect, useState } from "react";
import { api, errorText } from "../api/client";
import type { ConfigView, MeaningView } from "../api/types";
import { tell } from "../shell/messages";
import { changeConfig } from "./actions";
import { useChosen } from "./Described";
import classes from "./Settings.module.css";
import { TestResult } from "./TestResult";

type Embeddings = ConfigView["embeddings"];
type Outcome = { ok: boolean; message: string };

/** How often it is looked whether more texts can be found, while some are waiting, in milliseconds. */
const LOOK_AGAIN = 5000;

/** Return how it stands, in words. */
export function standWords(view: MeaningView): string {
  if (view.state === "words") return view.message;
  const done = `${view.done.toLocaleString()} ${view.done === 1 ? "text" : "texts"} can be found by meaning`;
  const waiting = view.waiting ? `, ${view.waiting.toLocaleString()} more are being prepared` : "";
  return `${view.model}: ${done}${waiting}.`;
}

/** How it stands now; looked at again while there is something to do. */
function useStanding(chosen: Embeddings): [MeaningView | null, (view: MeaningView) => void] {
  const [view, setView] = useState<MeaningView | null>(null);
  useEffect(() => {
    let isCurrent = true;
    let timer = 0;
    const look = () => {
      api.meaning().then((found) => {
        if (!isCurrent) return;
        setView(found);
        if (found.waiting) timer = window.setTimeout(look, LOOK_AGAIN);
      }, tell);
    };
    look();
    return () => {
      isCurrent = false;
      window.clearTimeout(timer);
    };
  }, [chosen]);
  return [view, setView];
}

/** What a person says about an endpoint: tried first if they like, then used. */
function EndpointForm({ chosen, about, onUsed }: { chosen: Embeddings; about: ConfigView["about"]; onUsed: () => void }) {
  const [url, setUrl] = useState(chosen.url ?? "");
  const [model, setModel] = useState(chosen.model ?? "");
  const [key, setKey] = useState("");
  const [doing, setDoing] = useState("");
  const [result, setResult] = useState<Outcome | null>(null);
  const during = (what: string, work: () => Promise<Outcome | null>) => {
    setDoing(what);
    work()
      .then(setResult, (error: unknown) => setResult({ ok: false, message: errorText(error) }))
      .finally(() => setDoing(""));
  };
  const place = { url: url.trim(), model: model.trim() };
  const test = () => during("Asking for a vector…", () => api.testEmbeddings({ ...place, key: key.trim() || null }));
  const use = () =>
    during("Keeping it…", async () => {
      await changeConfig({ embeddings: { source: "endpoint", ...place } });
      if (key.trim()) await api.setEmbeddingKey(key.trim());
      setKey("");
      onUsed();
      return null;
    });
  return (
    <form
      className={classes.stack}
      style={{ width: "100%", maxWidth: 480 }}
      onSubmit={(event) => {
        event.preventDefault();
        use();
      }}
    >
      <TextInput
        label={about["embeddings.url"]?.label}
        description={about["embeddings.url"]?.note}
        placeholder={about["embeddings.url"]?.usual}
        autoComplete="off"
        spellCheck={false}
        value={url}
        onChange={(event) => setUrl(event.currentTarget.value)}
      />
      <TextInput
        label={about["embeddings.model"]?.label}
        description={about["embeddings.model"]?.note}
        placeholder={about["embeddings.model"]?.usual}
        autoComplete="off"
        spellCheck={false}
        value={model}
        onChange={(event) => setModel(event.currentTarget.value)}
      />
      <PasswordInput
        label="Its key"
        description="Only if it wants one. Kept as a secret, and sent only to the address above; left empty, the kept one stays."
        autoComplete="new-password"
        spellCheck={false}
        value={key}
        visibilityToggleButtonProps={{ "aria-label": "Show the key", tabIndex: 0 }}
        onChange={(event) => setKey(event.currentTarget.value)}
      />
      <div className={classes.choices}>
        <Button type="submit" size="xs" disabled={!place.url || !place.model || !!doing}>
          Use it
        </Button>
        <Button variant="default" size="xs" disabled={!place.url || !place.model || !!doing} onClick={test}>
          Try it
        </Button>
        <TestResult doing={doing} result={result} />
      </div>
    </form>
  );
}

interface MeaningProps {
  embeddings: Embeddings;
  about: ConfigView["about"];
}

/** What makes texts findable by meaning, and how far that is. */
export function Meaning({ embeddings, about }: MeaningProps) {
  const [view, setView] = useStanding(embeddings);
  // An endpoint is chosen once its address is there.
  const [isChoosing, setChoosing] = useState(false);
  const [kept, keep] = useChosen(embeddings.source, (value) => changeConfig({ embeddings: { source: value } }));
  const source = isChoosing ? "endpoint" : kept;
  const setting = about["embeddings.source"];
  const choose = (value: string) => {
    setChoosing(value === "endpoint");
    if (value !== "endpoint") keep(value as Embeddings["source"]);
  };
  const remake = () => api.remakeVectors().then(setView, tell);
  return (
    <>
      <p className="ph-explained">{setting?.note}</p>
      <Radio.Group aria-label={setting?.label} value={source} onChange={choose}>
        <div className={classes.stack}>
          {Object.entries(setting?.choices ?? {}).map(([value, label]) => (
            <Radio key={value} value={value} label={label} />
          ))}
        </div>
      </Radio.Group>
      {source === "endpoint" && (
        <EndpointForm chosen={embeddings} about={about} onUsed={() => setChoosing(false)} />
      )}
      {view && (
        <p className="ph-explained" role="status">
          {standWords(view)}
        </p>
      )}
      {view?.state === "failed" && (
        <>
          <div className={classes.choices}>
            <TestResult doing="" result={{ ok: false, message: view.message }} />
          </div>
          <Button variant="default" size="xs" onClick={() => void remake()}>
            Make all vectors anew
          </Button>
        </>
      )}
    </>
  );
}
