import { Button, Text, TextInput } from "@mantine/core";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { api } from "../api/client";
import type { FoundModels as Result } from "../api/types";
import { tell } from "../shell/messages";
import { useApp } from "../store/store";
import { FoundModels } from "./FoundModels";
import classes from "./FoundModels.module.css";

/** Looks for model servers on another machine, because the person named it. */
export function FindElsewhere() {
  const models = useApp((state) => state.models);
  const [host, setHost] = useState("");
  const [isLooking, setLooking] = useState(false);
  const [result, setResult] = useState<(Result & { host: string }) | null>(null);
  const shown = useRef("");
  const look = (wanted: string) => {
    shown.current = wanted;
    setLooking(true);
    api
      .foundModels(wanted)
      .then((found) => shown.current === wanted && setResult({ ...found, host: wanted }))
      .catch(tell)
      .finally(() => setLooking(false));
  };
  // What was added is not offered again.
  useEffect(() => {
    if (shown.current) look(shown.current);
  }, [models]);
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    if (host.trim()) look(host.trim());
  };
  return (
    <>
      <form className={classes.elsewhere} onSubmit={onSubmit}>
        <TextInput
          className={classes.host}
          label="Look on another machine"
          description="Its name or address. Ollama, LM Studio, llama.cpp and vLLM are asked for at their usual ports."
          placeholder="nas.local or 192.168.1.5:8080"
          value={host}
          maxLength={300}
          spellCheck={false}
          autoCapitalize="none"
          onChange={(event) => setHost(event.currentTarget.value)}
        />
        <Button variant="default" type="submit" loading={isLooking} disabled={!host.trim()}>
          Look
        </Button>
      </form>
      <div role="status">
        {result?.note && (
          <Text size="sm" c="dimmed" className={classes.note}>
            {result.note}
          </Text>
        )}
      </div>
      {result && <FoundModels found={result.found} where={`at ${result.host}`} />}
    </>
  );
}
