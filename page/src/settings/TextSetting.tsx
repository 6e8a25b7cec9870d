import { TextInput } from "@mantine/core";
import { useState } from "react";
import { errorText } from "../api/client";
import type { Setting } from "../api/types";

interface TextSettingProps {
  about: Setting;
  saved: string;
  save: (value: string) => Promise<void>;
}

/** A text; it is kept when the field is left. */
export function TextSetting({ about, saved, save }: TextSettingProps) {
  // What was typed and is not kept yet; null while the field shows what is kept.
  const [typed, setTyped] = useState<string | null>(null);
  const [problem, setProblem] = useState("");
  const keep = () => {
    if (typed === null) return;
    setProblem("");
    save(typed.trim()).then(
      // What was typed meanwhile stays.
      () => setTyped((now) => (now === typed ? null : now)),
      (error: unknown) => setProblem(errorText(error)),
    );
  };
  return (
    <TextInput
      label={about.label}
      description={about.note}
      placeholder={about.usual}
      autoComplete="off"
      spellCheck={false}
      w="100%"
      maw={480}
      value={typed ?? saved}
      error={problem}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={keep}
      onKeyDown={(event) => event.key === "Enter" && event.currentTarget.blur()}
    />
  );
}
