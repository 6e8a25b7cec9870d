import { Button } from "@mantine/core";
import { useState } from "react";
import type { QuestionOf } from "../api/items";
import { Exactly } from "../calls/Exactly";
import { Fold } from "../chat/Fold";
import { seenFrom } from "../shell/paths";
import classes from "./Approvals.module.css";
import { askedOf, type Asked } from "./asked";
import { useGiven, type GivenToCall } from "./useGiven";
import { WhatElse, WhatRuns } from "./WhatRuns";

/** Calls that are listed before someone asks for all of them. */
const LISTED = 4;

/** Return one call of a group in a line: what sets it apart from the others. */
function line(asked: Asked, given: GivenToCall, folder: string | null): string {
  if (asked.command) return asked.command.text || asked.command.argv.join(" ");
  if (asked.paths.length) return asked.paths.map(({ path }) => seenFrom(folder, path)).join(", ");
  const words = Object.entries(given.arguments ?? {}).map(([name, value]) => `${name}: ${typeof value === "string" ? value : JSON.stringify(value)}`);
  return words.join(", ") || asked.operation;
}

function Call({ item, folder }: { item: QuestionOf<"approval">; folder: string | null }) {
  const asked = askedOf(item.data);
  const given = useGiven(item);
  const summary = (
    <code className={classes.callLine}>
      <Exactly value={line(asked, given, folder)} />
    </code>
  );
  return (
    <li>
      <Fold isWide summary={summary}>
        {() => (
          <>
            <WhatRuns asked={asked} given={given} folder={folder} />
            <WhatElse asked={asked} given={given} folder={folder} />
          </>
        )}
      </Fold>
    </li>
  );
}

/** The calls of a group, each in a line that opens. */
export function Calls({ items, folder }: { items: readonly QuestionOf<"approval">[]; folder: string | null }) {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? items : items.slice(0, LISTED);
  return (
    <>
      <ol className={classes.calls} aria-label="Calls">
        {shown.map((item) => (
          <Call key={item.id} item={item} folder={folder} />
        ))}
      </ol>
      {items.length > LISTED && (
        <Button className={classes.more ?? ""} size="compact-xs" variant="subtle" color="gray" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? "Show fewer" : `Show all ${items.length} calls`}
        </Button>
      )}
    </>
  );
}
