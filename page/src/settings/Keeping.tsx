import { Button, FileButton } from "@mantine/core";
import { useRef, useState, type ReactNode } from "react";
import { importFile } from "../api/bytes";
import { tell } from "../shell/messages";
import { conversationPath, navigate } from "../shell/router";

/** Takes the conversations of a file over, and opens the first of them. */
function Import() {
  const [isBusy, setBusy] = useState(false);
  const forget = useRef<() => void>(null);
  const take = (file: File | null) => {
    if (!file) return;
    setBusy(true);
    importFile(file)
      .then(({ conversations: [first] }) => first && navigate(conversationPath(first.id)))
      .catch(tell)
      .finally(() => {
        setBusy(false);
        // The same file, mended, may be chosen again.
        forget.current?.();
      });
  };
  return (
    <FileButton accept=".jsonl,.gz" onChange={take} resetRef={forget}>
      {(props) => (
        <Button {...props} variant="default" size="xs" loading={isBusy}>
          Import conversations…
        </Button>
      )}
    </FileButton>
  );
}

/** How long conversations are kept, and those of elsewhere. */
export function Keeping({ children }: { children: ReactNode }) {
  return (
    <>
      <p className="ph-explained">
        Once a day the server removes what is older or more than you say, for good. The command{" "}
        <code>pilothouse retention</code> shows what that would be now.
      </p>
      {children}
      <Import />
    </>
  );
}
